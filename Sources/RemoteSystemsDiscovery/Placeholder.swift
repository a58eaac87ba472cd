// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

