// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGTK
import UserNotificationsUI

/// A widget of GTK, which lives as long as the program or until it is removed.
@MainActor
@safe
struct Widget {
    fileprivate let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer?) {
        guard let pointer = unsafe pointer else {
            Card.end(70, "GTK has no memory for a widget.")
        }
        unsafe self.pointer = unsafe pointer
    }

    // MARK: The window

    static func window(width: Int, closed: @escaping () -> Void) -> Widget {
        unsafe Widget(rs_gtk_window_new(CInt(width), Handler.call, Handler.retained(closed)))
    }

    func setTitle(_ title: String) { unsafe rs_gtk_window_set_title(self.pointer, title) }
    func setChild(_ child: Widget) { unsafe rs_gtk_window_set_child(self.pointer, child.pointer) }
    /// The height of the lowest screen: the window may be on any of them.
    static var screenHeight: Int { Int(rs_gtk_screen_height()) }
    /// Gives the window the height that its content needs.
    func fit(width: Int, maxHeight: Int) {
        unsafe rs_gtk_window_fit(self.pointer, CInt(width), CInt(clamping: maxHeight))
    }
    func present() { unsafe rs_gtk_window_present(self.pointer) }

    /// Adds rules to the style sheet.
    static func addStyle(_ css: String) { unsafe rs_gtk_style(css) }

    // MARK: Containers

    static func box(isVertical: Bool, spacing: Int = 8) -> Widget {
        unsafe Widget(rs_gtk_box_new(isVertical, CInt(spacing)))
    }

    func append(_ child: Widget) { unsafe rs_gtk_box_append(self.pointer, child.pointer) }
    /// Keeps a widget that is removed from its box, until ``release()``.
    func hold() { unsafe rs_gtk_hold(self.pointer) }
    func release() { unsafe rs_gtk_release(self.pointer) }
    func remove(_ child: Widget) { unsafe rs_gtk_box_remove(self.pointer, child.pointer) }

    static func scroller(_ child: Widget) -> Widget { unsafe Widget(rs_gtk_scroller_new(child.pointer)) }
    func setHeights(min: Int, max: Int) { unsafe rs_gtk_scroller_set_heights(self.pointer, CInt(min), CInt(max)) }

    // MARK: What is shown

    static func label(_ text: String, style: String? = nil) -> Widget {
        let label = unsafe Widget(rs_gtk_label_new(text))
        if let style { label.addClass(style) }
        return label
    }

    func setText(_ text: String) { unsafe rs_gtk_label_set_text(self.pointer, text) }

    /// `nil` if the file cannot be shown.
    static func picture(_ path: String, description: String, maxWidth: Int, maxHeight: Int) -> Widget? {
        let picture = unsafe rs_gtk_picture_new(path, description, CInt(maxWidth), CInt(maxHeight))
        return unsafe picture.map { unsafe Widget($0) }
    }

    static func progress() -> Widget { unsafe Widget(rs_gtk_progress_new()) }
    func setFraction(_ fraction: Double) { unsafe rs_gtk_progress_set(self.pointer, fraction) }
    static func spinner() -> Widget { unsafe Widget(rs_gtk_spinner_new()) }
    func setSpinning(_ isSpinning: Bool) { unsafe rs_gtk_spinner_set(self.pointer, isSpinning) }

    // MARK: Controls

    static func button(_ title: String, clicked: @escaping () -> Void) -> Widget {
        unsafe Widget(rs_gtk_button_new(title, Handler.call, Handler.retained(clicked)))
    }

    func setButtonTitle(_ title: String) { unsafe rs_gtk_button_set_title(self.pointer, title) }

    static func slider(_ range: ClosedRange<Double>, _ steps: SliderSteps, changed: @escaping () -> Void) -> Widget {
        unsafe Widget(
            rs_gtk_slider_new(
                range.lowerBound,
                range.upperBound,
                steps.step,
                CInt(steps.decimals),
                Handler.call,
                Handler.retained(changed)
            )
        )
    }

    var sliderValue: Double { unsafe rs_gtk_slider_value(self.pointer) }
    func setSliderValue(_ value: Double) { unsafe rs_gtk_slider_set_value(self.pointer, value) }

    static func toggle(changed: @escaping () -> Void) -> Widget {
        unsafe Widget(rs_gtk_switch_new(Handler.call, Handler.retained(changed)))
    }

    var isOn: Bool { unsafe rs_gtk_switch_is_on(self.pointer) }
    func setOn(_ isOn: Bool) { unsafe rs_gtk_switch_set_on(self.pointer, isOn) }

    /// The maximum length of the text of an action, and of a field of a card.
    private static let maxTextBytes: CInt = 4096

    static func entry(_ placeholder: String, entered: @escaping () -> Void) -> Widget {
        unsafe Widget(rs_gtk_entry_new(placeholder, Self.maxTextBytes, Handler.call, Handler.retained(entered)))
    }

    var enteredText: String { unsafe rs_gtk_entry_text(self.pointer).map { unsafe String(cString: $0) } ?? "" }
    func setEnteredText(_ text: String) { unsafe rs_gtk_entry_set_text(self.pointer, text) }

    // MARK: All widgets

    func setSensitive(_ isSensitive: Bool) { unsafe rs_gtk_set_sensitive(self.pointer, isSensitive) }
    func setVisible(_ isVisible: Bool) { unsafe rs_gtk_set_visible(self.pointer, isVisible) }
    func expand(isVertical: Bool = false) { unsafe rs_gtk_expand(self.pointer, isVertical) }
    func setWidth(_ width: Int) { unsafe rs_gtk_set_width(self.pointer, CInt(width)) }
    func setMargin(_ margin: Int) { unsafe rs_gtk_set_margin(self.pointer, CInt(margin)) }
    func addClass(_ name: String) { unsafe rs_gtk_add_class(self.pointer, name) }
    func focus() { unsafe rs_gtk_focus(self.pointer) }
}

/// A closure that C calls. It lives as long as the program: a card has few controls, and changes them in place.
@MainActor
enum Handler {
    @MainActor
    private final class Closure {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    static func retained(_ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(Closure(body)).toOpaque()
    }

    nonisolated static let call: rs_gtk_handler = { context in
        guard let context = unsafe context else { return }
        let closure = unsafe Unmanaged<Closure>.fromOpaque(context).takeUnretainedValue()
        MainActor.assumeIsolated { closure.body() }
    }

    /// Calls a closure later, once.
    static func after(milliseconds: UInt32, _ body: @escaping () -> Void) {
        unsafe rs_gtk_after(milliseconds, Handler.call, Handler.retained(body))
    }
}
