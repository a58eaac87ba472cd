#!/usr/bin/gjs -m
// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Hands a note over, or continues one, through the host daemon on the session bus.
//
//     note.js offer TITLE TEXT    offer a note until another system has continued it
//     note.js receive             continue notes of other systems until stopped
//     note.js list                list what other systems offer
//     note.js continue ID         let a program of this system continue an activity

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';

const NAME = 'org.remotesystems.Activities1';
const PATH = '/org/remotesystems/Activities1';
const NOTE = 'org.example.note';
const HANDLER = `
<node><interface name="org.remotesystems.ActivityHandler1">
  <method name="Continue">
    <arg name="type" type="s" direction="in"/>
    <arg name="title" type="s" direction="in"/>
    <arg name="content" type="a{sv}" direction="in"/>
    <arg name="details" type="a{sv}" direction="in"/>
    <arg name="continued" type="b" direction="out"/>
  </method>
</interface></node>`;

const loop = new GLib.MainLoop(null, false);
const proxy = Gio.DBusProxy.new_for_bus_sync(
    Gio.BusType.SESSION, Gio.DBusProxyFlags.NONE, null, NAME, PATH, NAME, null);

function call(method, signature, ...values) {
    const variant = signature ? new GLib.Variant(signature, values) : null;
    // An application may take minutes to continue, so the default of 25 s is too short.
    return proxy.call_sync(method, variant, Gio.DBusCallFlags.NONE, 300000, null).recursiveUnpack();
}

// Calls `start` now, and again when another daemon has the name: it does not know what an earlier one was told.
function keep(start) {
    start();
    let known = proxy.get_name_owner();
    proxy.connect('notify::g-name-owner', () => {
        const owner = proxy.get_name_owner();
        if (owner && known && owner !== known)
            start();
        known = owner ?? known;
    });
}

const handler = {
    // Another system has handed a note over. Its content comes from there: check it.
    Continue(_type, title, content, _details) {
        const text = content.Text?.deepUnpack();
        if (typeof text === 'string')
            print(`continued: ${title}: ${text}`);
        return typeof text === 'string';
    },
};

const commands = {
    list() {
        for (const offer of call('List')[0]) {
            const account = offer.account_name ? ` (of ${offer.account_name})` : '';
            print(`${offer.id} ${offer.system_name}${account}: ${offer.title ?? offer.type}`);
        }
    },
    continue(id) {
        print(`continued in ${call('Continue', '(ss)', id, '')[0]}`);
    },
    receive() {
        const object = Gio.DBusExportedObject.wrapJSObject(HANDLER, handler);
        object.export(Gio.DBus.session, '/org/remotesystems/ActivityHandler1');
        keep(() => call('Register', '(sas)', 'org.example.notes', [NOTE]));
        print('ready: continuing notes');
        loop.run();
    },
    offer(title, text) {
        proxy.connect('g-signal', (_proxy, _sender, signal, values) => {
            if (signal !== 'Continued')
                return;
            print(`handed over to ${values.recursiveUnpack()[2]}`);
            loop.quit();
        });
        keep(() => {
            call('Register', '(sas)', 'org.example.notes', []);
            call('Offer', '(ssa{sv}a{sv})', NOTE, title, {Text: new GLib.Variant('s', text)}, {});
        });
        print(`offered: ${title}`);
        loop.run();
    },
};

try {
    const [command, ...words] = System.programArgs;
    if (!Object.hasOwn(commands, command ?? '') || words.length !== commands[command].length) {
        printerr('It takes: offer TITLE TEXT, receive, list, or continue ID.');
        System.exit(64);
    }
    commands[command](...words);
} catch (error) {
    if (Gio.DBusError.get_remote_error(error) === 'org.freedesktop.DBus.Error.ServiceUnknown') {
        printerr("note.js: The host daemon does not run. Start it with 'remotesystems host run'.");
        System.exit(1);
    }
    Gio.DBusError.strip_remote_error(error);
    printerr(`note.js: ${error.message}`);
    System.exit(1);
}
