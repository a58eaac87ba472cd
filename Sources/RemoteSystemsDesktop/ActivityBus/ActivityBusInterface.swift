// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The names of hand-off on the session bus (`Docs/dbus-activities.md`).
enum ActivityBusInterface {
    static let name = "org.remotesystems.Activities1"
    /// What a program implements to continue activities.
    static let handler = "org.remotesystems.ActivityHandler1"
    static let handlerPath = "/org/remotesystems/ActivityHandler1"

    /// The interface, at the path that has its name.
    static let interface = BusInterface(
        name: name,
        // Content of 64 KiB, which is at most twelve times as long as a `GVariant`.
        maxCallBytes: 1 << 20,
        members: """
            <method name="Register"><arg name="application" type="s" direction="in"/>\
            <arg name="activity_types" type="as" direction="in"/></method>
            <method name="Offer"><arg name="type" type="s" direction="in"/><arg name="title" type="s" direction="in"/>\
            <arg name="content" type="a{sv}" direction="in"/><arg name="options" type="a{sv}" direction="in"/>\
            <arg name="id" type="s" direction="out"/></method>
            <method name="Update"><arg name="id" type="s" direction="in"/><arg name="title" type="s" direction="in"/>\
            <arg name="content" type="a{sv}" direction="in"/></method>
            <method name="Withdraw"><arg name="id" type="s" direction="in"/></method>
            <method name="List"><arg name="offers" type="aa{sv}" direction="out"/></method>
            <method name="Continue"><arg name="id" type="s" direction="in"/>\
            <arg name="application" type="s" direction="in"/>\
            <arg name="continued_in" type="s" direction="out"/></method>
            <method name="ContinueFrom"><arg name="id" type="s" direction="in"/>\
            <arg name="system" type="s" direction="in"/><arg name="application" type="s" direction="in"/>\
            <arg name="continued_in" type="s" direction="out"/></method>
            <method name="ContinueOffer"><arg name="id" type="s" direction="in"/>\
            <arg name="system" type="s" direction="in"/><arg name="offered_by" type="s" direction="in"/>\
            <arg name="application" type="s" direction="in"/>\
            <arg name="continued_in" type="s" direction="out"/></method>
            <signal name="OffersChanged"/>
            <signal name="Continued"><arg name="id" type="s"/><arg name="system" type="s"/>\
            <arg name="application" type="s"/></signal>
            <signal name="Returned"><arg name="id" type="s"/><arg name="system" type="s"/>\
            <arg name="application" type="s"/></signal>
            <property name="Version" type="u" access="read"/>
            """
    )
}
