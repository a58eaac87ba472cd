// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names of notifications on the session bus (`Docs/dbus-notifications.md`).
enum NotificationBusInterface {
    static let interface = BusInterface(
        name: "org.remotesystems.Notifications1",
        maxCallBytes: 64 << 10,
        members: """
            <method name="Register"><arg name="application" type="s" direction="in"/>\
            <arg name="name" type="s" direction="in"/></method>
            <method name="Add"><arg name="id" type="s" direction="in"/><arg name="title" type="s" direction="in"/>\
            <arg name="body" type="s" direction="in"/><arg name="actions" type="a(ss)" direction="in"/>\
            <arg name="options" type="a{sv}" direction="in"/></method>
            <method name="Remove"><arg name="ids" type="as" direction="in"/></method>
            <method name="List"><arg name="notifications" type="aa{sv}" direction="out"/></method>
            <method name="Acknowledge"><arg name="response" type="s" direction="in"/></method>
            <method name="Ask"><arg name="application" type="s" direction="in"/>\
            <arg name="title" type="s" direction="in"/><arg name="body" type="s" direction="in"/>\
            <arg name="actions" type="a(ss)" direction="in"/><arg name="options" type="a{sv}" direction="in"/>\
            <arg name="action" type="s" direction="out"/><arg name="text" type="s" direction="out"/></method>
            <signal name="ActivationToken"><arg name="response" type="s"/><arg name="token" type="s"/></signal>\
            <signal name="Responded"><arg name="id" type="s"/><arg name="action" type="s"/>\
            <arg name="text" type="s"/><arg name="response" type="s"/></signal>
            <property name="Version" type="u" access="read"/>
            """
    )
    /// Gives the token with which the program may raise its window for a response, before that.
    static let activationToken = "ActivationToken"
    /// Reports what the user has responded.
    static let responded = "Responded"
}
