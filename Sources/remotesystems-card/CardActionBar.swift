// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserNotificationsUI

/// The buttons of the actions, and the fields in which the user enters text.
@MainActor
final class CardActionBar {
    let widget = Widget.box(isVertical: true)
    /// Called when the user has chosen an action.
    var chosen: (_ action: String, _ text: String?) -> Void = { _, _ in }
    private var rows: [Widget] = []
    private let spinner = Widget.spinner()
    private var isBusy = false

    init() {
        self.spinner.setVisible(false)
        self.widget.append(self.spinner)
    }

    /// Shows actions in place of those before.
    func show(_ actions: [CardWindowAction]) {
        for row in self.rows { self.widget.remove(row) }
        self.rows = []
        let buttons = Widget.box(isVertical: false)
        for action in actions where action.textInput == nil {
            let button = Widget.button(action.title) { [unowned self] in self.chosen(action.identifier, nil) }
            if action.isDestructive { button.addClass("destructive-action") }
            button.expand()
            buttons.append(button)
        }
        self.rows.append(buttons)
        for action in actions {
            guard let input = action.textInput else { continue }
            self.rows.append(self.field(action, input.placeholder, input.buttonTitle))
        }
        for row in self.rows { self.widget.append(row) }
        self.setBusy(self.isBusy)
    }

    private func field(_ action: CardWindowAction, _ placeholder: String, _ buttonTitle: String) -> Widget {
        let row = Widget.box(isVertical: false)
        var send: () -> Void = {}
        let entry = Widget.entry(placeholder.isEmpty ? action.title : placeholder) { send() }
        let button = Widget.button(buttonTitle.isEmpty ? action.title : buttonTitle) { send() }
        send = { [unowned self] in self.chosen(action.identifier, entry.enteredText) }
        entry.expand()
        row.append(entry)
        row.append(button)
        return row
    }

    /// Whether a response is awaited. No other action can be chosen then.
    func setBusy(_ isBusy: Bool) {
        self.isBusy = isBusy
        for row in self.rows { row.setSensitive(!isBusy) }
        self.spinner.setVisible(isBusy)
        self.spinner.setSpinning(isBusy)
    }
}
