// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gio/gio.h>
#include <gio/gdesktopappinfo.h>
