// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef REMOTE_SYSTEMS_GTK_H
#define REMOTE_SYSTEMS_GTK_H

#include <stdbool.h>
#include <stdint.h>

// The few widgets that a card needs, from GTK 4 (https://docs.gtk.org/gtk4). GTK is loaded when the program starts: it
// is not needed to build this package, nor on systems without a desktop. Everything is called on one thread.

typedef struct rs_gtk_widget rs_gtk_widget;
typedef void (*rs_gtk_handler)(void *context);
// A handler of a file descriptor. Returns false when it is not called any more.
typedef bool (*rs_gtk_descriptor_handler)(void *context);

// Loads GTK and opens the display. Returns NULL, or what is missing.
const char *rs_gtk_open(void);
// Runs until rs_gtk_stop.
void rs_gtk_run(void);
void rs_gtk_stop(void);
// Calls a handler whenever a descriptor can be read, or its other end is closed.
void rs_gtk_watch(int descriptor, rs_gtk_descriptor_handler handler, void *context);
// Calls a handler after a time, once.
void rs_gtk_after(unsigned milliseconds, rs_gtk_handler handler, void *context);
// Adds style sheet rules.
void rs_gtk_style(const char *css);

rs_gtk_widget *rs_gtk_window_new(int width, rs_gtk_handler closed, void *context);
void rs_gtk_window_set_title(rs_gtk_widget *window, const char *title);
void rs_gtk_window_set_child(rs_gtk_widget *window, rs_gtk_widget *child);
// The height of the lowest screen: the window may be on any of them.
int rs_gtk_screen_height(void);
// Gives the window the height that its content needs.
void rs_gtk_window_fit(rs_gtk_widget *window, int width, int max_height);
void rs_gtk_window_present(rs_gtk_widget *window);

rs_gtk_widget *rs_gtk_box_new(bool is_vertical, int spacing);
void rs_gtk_box_append(rs_gtk_widget *box, rs_gtk_widget *child);
// A widget that is held is not freed when it is removed from its box.
void rs_gtk_hold(rs_gtk_widget *widget);
void rs_gtk_release(rs_gtk_widget *widget);
void rs_gtk_box_remove(rs_gtk_widget *box, rs_gtk_widget *child);

rs_gtk_widget *rs_gtk_scroller_new(rs_gtk_widget *child);
// A minimum of 0 is the natural height.
void rs_gtk_scroller_set_heights(rs_gtk_widget *scroller, int minimum, int maximum);

rs_gtk_widget *rs_gtk_label_new(const char *text);
void rs_gtk_label_set_text(rs_gtk_widget *label, const char *text);
// NULL if the file cannot be shown.
rs_gtk_widget *rs_gtk_picture_new(const char *path, const char *description, int max_width, int max_height);
rs_gtk_widget *rs_gtk_progress_new(void);
void rs_gtk_progress_set(rs_gtk_widget *progress, double fraction);
rs_gtk_widget *rs_gtk_spinner_new(void);
void rs_gtk_spinner_set(rs_gtk_widget *spinner, bool is_on);

rs_gtk_widget *rs_gtk_button_new(const char *title, rs_gtk_handler clicked, void *context);
void rs_gtk_button_set_title(rs_gtk_widget *button, const char *title);
rs_gtk_widget *rs_gtk_slider_new(
    double min, double max, double step, int decimals, rs_gtk_handler changed, void *context
);
double rs_gtk_slider_value(rs_gtk_widget *slider);
void rs_gtk_slider_set_value(rs_gtk_widget *slider, double value);
rs_gtk_widget *rs_gtk_switch_new(rs_gtk_handler changed, void *context);
bool rs_gtk_switch_is_on(rs_gtk_widget *widget);
void rs_gtk_switch_set_on(rs_gtk_widget *widget, bool is_on);
// The handler is called when Enter is pressed. Text beyond the limit, in UTF-8, is not inserted.
rs_gtk_widget *rs_gtk_entry_new(const char *placeholder, int max_bytes, rs_gtk_handler activated, void *context);
// Valid until the entry changes.
const char *rs_gtk_entry_text(rs_gtk_widget *entry);
void rs_gtk_entry_set_text(rs_gtk_widget *entry, const char *text);

void rs_gtk_set_sensitive(rs_gtk_widget *widget, bool is_sensitive);
void rs_gtk_set_visible(rs_gtk_widget *widget, bool is_visible);
void rs_gtk_expand(rs_gtk_widget *widget, bool is_vertical);
void rs_gtk_set_width(rs_gtk_widget *widget, int width);
void rs_gtk_set_margin(rs_gtk_widget *widget, int margin);
void rs_gtk_add_class(rs_gtk_widget *widget, const char *name);
void rs_gtk_focus(rs_gtk_widget *widget);

#endif
