// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#include "CRemoteSystemsGTK.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// GTK's and GLib's functions, as their headers declare them. Pointers to their types are opaque here.
typedef int gboolean;
typedef void *widget;
struct rectangle {
    int x, y, width, height;
};

#define FUNCTIONS(F)                                                                                                   \
    F(gboolean, gtk_init_check, (void))                                                                                \
    F(widget, gtk_window_new, (void))                                                                                  \
    F(void, gtk_window_set_title, (widget, const char *))                                                              \
    F(void, gtk_window_set_default_size, (widget, int, int))                                                           \
    F(void, gtk_window_set_child, (widget, widget))                                                                    \
    F(void, gtk_window_present, (widget))                                                                              \
    F(widget, gtk_box_new, (int, int))                                                                                 \
    F(void, gtk_box_append, (widget, widget))                                                                          \
    F(void, gtk_box_remove, (widget, widget))                                                                          \
    F(widget, gtk_scrolled_window_new, (void))                                                                         \
    F(void, gtk_scrolled_window_set_child, (widget, widget))                                                           \
    F(void, gtk_scrolled_window_set_policy, (widget, int, int))                                                        \
    F(void, gtk_scrolled_window_set_propagate_natural_height, (widget, gboolean))                                      \
    F(void, gtk_scrolled_window_set_min_content_height, (widget, int))                                                 \
    F(void, gtk_scrolled_window_set_max_content_height, (widget, int))                                                 \
    F(widget, gtk_label_new, (const char *))                                                                           \
    F(void, gtk_label_set_text, (widget, const char *))                                                                \
    F(void, gtk_label_set_wrap, (widget, gboolean))                                                                    \
    F(void, gtk_label_set_wrap_mode, (widget, int))                                                                    \
    F(void, gtk_label_set_xalign, (widget, float))                                                                     \
    F(void, gtk_label_set_max_width_chars, (widget, int))                                                              \
    F(void, gtk_label_set_ellipsize, (widget, int))                                                                    \
    F(widget, gtk_picture_new_for_paintable, (void *))                                                                 \
    F(void, gtk_picture_set_alternative_text, (widget, const char *))                                                  \
    F(void, gtk_picture_set_can_shrink, (widget, gboolean))                                                            \
    F(void *, gdk_pixbuf_get_file_info, (const char *, int *, int *))                                                  \
    F(char *, gdk_pixbuf_format_get_name, (void *))                                                                    \
    F(void *, gdk_pixbuf_new_from_file_at_scale, (const char *, int, int, gboolean, void *))                           \
    F(void *, gdk_texture_new_for_pixbuf, (void *))                                                                    \
    F(void *, gdk_texture_new_from_filename, (const char *, void *))                                                   \
    F(int, gdk_texture_get_width, (void *))                                                                            \
    F(int, gdk_texture_get_height, (void *))                                                                           \
    F(widget, gtk_progress_bar_new, (void))                                                                            \
    F(void, gtk_progress_bar_set_fraction, (widget, double))                                                           \
    F(widget, gtk_spinner_new, (void))                                                                                 \
    F(void, gtk_spinner_start, (widget))                                                                               \
    F(void, gtk_spinner_stop, (widget))                                                                                \
    F(widget, gtk_button_new_with_label, (const char *))                                                               \
    F(void, gtk_button_set_label, (widget, const char *))                                                              \
    F(widget, gtk_button_get_child, (widget))                                                                          \
    F(widget, gtk_scale_new_with_range, (int, double, double, double))                                                 \
    F(void, gtk_scale_set_draw_value, (widget, gboolean))                                                              \
    F(void, gtk_scale_set_digits, (widget, int))                                                                       \
    F(double, gtk_range_get_value, (widget))                                                                           \
    F(void, gtk_range_set_value, (widget, double))                                                                     \
    F(widget, gtk_switch_new, (void))                                                                                  \
    F(gboolean, gtk_switch_get_active, (widget))                                                                       \
    F(void, gtk_switch_set_active, (widget, gboolean))                                                                 \
    F(widget, gtk_entry_new, (void))                                                                                   \
    F(void, gtk_entry_set_placeholder_text, (widget, const char *))                                                    \
    F(widget, gtk_editable_get_delegate, (widget))                                                                     \
    F(void, gtk_editable_insert_text, (widget, const char *, int, int *))                                              \
    F(const char *, gtk_editable_get_text, (widget))                                                                   \
    F(void, gtk_editable_set_text, (widget, const char *))                                                             \
    F(void, gtk_widget_set_sensitive, (widget, gboolean))                                                              \
    F(void, gtk_widget_set_visible, (widget, gboolean))                                                                \
    F(void, gtk_widget_set_hexpand, (widget, gboolean))                                                                \
    F(void, gtk_widget_set_vexpand, (widget, gboolean))                                                                \
    F(void, gtk_widget_set_halign, (widget, int))                                                                      \
    F(void, gtk_widget_set_valign, (widget, int))                                                                      \
    F(void, gtk_widget_set_size_request, (widget, int, int))                                                           \
    F(void, gtk_widget_set_margin_start, (widget, int))                                                                \
    F(void, gtk_widget_set_margin_end, (widget, int))                                                                  \
    F(void, gtk_widget_set_margin_top, (widget, int))                                                                  \
    F(void, gtk_widget_set_margin_bottom, (widget, int))                                                               \
    F(void, gtk_widget_add_css_class, (widget, const char *))                                                          \
    F(gboolean, gtk_widget_grab_focus, (widget))                                                                       \
    F(void, gtk_widget_measure, (widget, int, int, int *, int *, int *, int *))                                        \
    F(void, gtk_widget_add_controller, (widget, void *))                                                               \
    F(void *, gtk_event_controller_key_new, (void))                                                                    \
    F(void *, gtk_css_provider_new, (void))                                                                            \
    F(void, gtk_css_provider_load_from_data, (void *, const char *, long))                                             \
    F(void, gtk_style_context_add_provider_for_display, (void *, void *, unsigned))                                    \
    F(void *, gdk_display_get_default, (void))                                                                         \
    F(void *, gdk_display_get_monitors, (void *))                                                                      \
    F(void, gdk_monitor_get_geometry, (void *, struct rectangle *))                                                    \
    F(unsigned, g_list_model_get_n_items, (void *))                                                                    \
    F(void *, g_list_model_get_item, (void *, unsigned))                                                               \
    F(unsigned long, g_signal_connect_data, (void *, const char *, void (*)(void), void *, void *, int))               \
    F(void, g_signal_stop_emission_by_name, (void *, const char *))                                                    \
    F(void, g_free, (void *))                                                                                          \
    F(void *, g_object_ref, (void *))                                                                                  \
    F(void, g_object_unref, (void *))                                                                                  \
    F(void *, g_main_loop_new, (void *, gboolean))                                                                     \
    F(void, g_main_loop_run, (void *))                                                                                 \
    F(void, g_main_loop_quit, (void *))                                                                                \
    F(unsigned, g_unix_fd_add, (int, int, gboolean (*)(int, int, void *), void *))                                     \
    F(unsigned, g_timeout_add, (unsigned, gboolean (*)(void *), void *))

#define DECLARE(result, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

enum { HORIZONTAL = 0, VERTICAL = 1 };
enum { ALIGN_START = 1, ALIGN_CENTER = 3 };
enum { POLICY_AUTOMATIC = 1, POLICY_NEVER = 2 };
enum { WRAP_WORD_CHARACTER = 2 };
enum { ELLIPSIZE_END = 3 };
enum { READABLE_OR_CLOSED = 1 | 8 | 16 };
enum { USUAL_SCREEN_HEIGHT = 1080, MAX_GIF_PIXELS = 35000000 };
enum { STYLE_PRIORITY_APPLICATION = 600, KEY_ESCAPE = 0xff1b };

static void *loop;

const char *rs_gtk_open(void) {
    static char missing[128];
    void *library = dlopen("libgtk-4.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) { return "GTK 4 is not installed (Debian: libgtk-4-1)."; }
#define LOAD(result, name, parameters)                                                                                 \
    name = (result(*) parameters)dlsym(library, #name);                                                                \
    if (name == NULL) {                                                                                                \
        snprintf(missing, sizeof missing, "The installed GTK 4 is too old: it has no %s.", #name);                     \
        return missing;                                                                                                \
    }
    FUNCTIONS(LOAD)
    if (!gtk_init_check()) { return "No display can be opened. Set DISPLAY or WAYLAND_DISPLAY."; }
    loop = g_main_loop_new(NULL, 0);
    return NULL;
}

void rs_gtk_run(void) { g_main_loop_run(loop); }
void rs_gtk_stop(void) { g_main_loop_quit(loop); }

// There is one: the standard input.
struct descriptor_watch {
    rs_gtk_descriptor_handler handler;
    void *context;
};
static struct descriptor_watch watch;

static gboolean descriptor_ready(int descriptor, int condition, void *unused) {
    (void)descriptor, (void)condition, (void)unused;
    return watch.handler(watch.context);
}

void rs_gtk_watch(int descriptor, rs_gtk_descriptor_handler handler, void *context) {
    watch = (struct descriptor_watch){handler, context};
    g_unix_fd_add(descriptor, READABLE_OR_CLOSED, descriptor_ready, NULL);
}

struct timer {
    rs_gtk_handler handler;
    void *context;
};

static gboolean timer_fired(void *context) {
    struct timer timer = *(struct timer *)context;
    free(context);
    timer.handler(timer.context);
    return 0;
}

void rs_gtk_after(unsigned milliseconds, rs_gtk_handler handler, void *context) {
    struct timer *timer = malloc(sizeof *timer);
    if (timer == NULL) { return; }
    *timer = (struct timer){handler, context};
    g_timeout_add(milliseconds, timer_fired, timer);
}

void rs_gtk_style(const char *css) {
    void *provider = gtk_css_provider_new();
    gtk_css_provider_load_from_data(provider, css, -1);
    gtk_style_context_add_provider_for_display(gdk_display_get_default(), provider, STYLE_PRIORITY_APPLICATION);
}

// MARK: Signals

// Each signal calls a handler with its context alone. The widgets, and with them the connections, live until the
// program ends, or until they are removed from their box; the caller keeps the contexts.
struct connection {
    rs_gtk_handler handler;
    void *context;
};

static void signal_received(void *sender, struct connection *connection) {
    (void)sender;
    connection->handler(connection->context);
}

static void signal_with_argument(void *sender, void *argument, struct connection *connection) {
    (void)sender, (void)argument;
    connection->handler(connection->context);
}

static void connection_ended(void *connection, void *closure) {
    (void)closure;
    free(connection);
}

static void connect(void *sender, const char *name, void (*receiver)(void), rs_gtk_handler handler, void *context) {
    struct connection *connection = malloc(sizeof *connection);
    if (connection == NULL) { return; }
    *connection = (struct connection){handler, context};
    g_signal_connect_data(sender, name, receiver, connection, (void *)connection_ended, 0);
}

// MARK: The window

static gboolean close_requested(void *window, struct connection *connection) {
    (void)window;
    connection->handler(connection->context);
    return 1;
}

static gboolean key_pressed(void *controller, unsigned key, unsigned code, unsigned state, struct connection *close) {
    (void)controller, (void)code, (void)state;
    if (key != KEY_ESCAPE) { return 0; }
    close->handler(close->context);
    return 1;
}

rs_gtk_widget *rs_gtk_window_new(int width, rs_gtk_handler closed, void *context) {
    widget window = gtk_window_new();
    gtk_window_set_default_size(window, width, -1);
    connect(window, "close-request", (void (*)(void))close_requested, closed, context);
    void *keys = gtk_event_controller_key_new();
    connect(keys, "key-pressed", (void (*)(void))key_pressed, closed, context);
    gtk_widget_add_controller(window, keys);
    return window;
}

void rs_gtk_window_set_title(rs_gtk_widget *window, const char *title) { gtk_window_set_title(window, title); }
void rs_gtk_window_set_child(rs_gtk_widget *window, rs_gtk_widget *child) { gtk_window_set_child(window, child); }
int rs_gtk_screen_height(void) {
    void *monitors = gdk_display_get_monitors(gdk_display_get_default());
    int lowest = 0;
    for (unsigned index = 0; index < g_list_model_get_n_items(monitors); index++) {
        void *monitor = g_list_model_get_item(monitors, index);
        if (monitor == NULL) { continue; }
        struct rectangle area = {0, 0, 0, 0};
        gdk_monitor_get_geometry(monitor, &area);
        g_object_unref(monitor);
        if (area.height > 0 && (lowest == 0 || area.height < lowest)) { lowest = area.height; }
    }
    return lowest > 0 ? lowest : USUAL_SCREEN_HEIGHT;
}

void rs_gtk_window_fit(rs_gtk_widget *window, int width, int max_height) {
    int minimum = 0, natural = 0;
    gtk_widget_measure(window, VERTICAL, width, &minimum, &natural, NULL, NULL);
    gtk_window_set_default_size(window, width, natural < max_height ? natural : max_height);
}
void rs_gtk_window_present(rs_gtk_widget *window) { gtk_window_present(window); }

// MARK: Containers

rs_gtk_widget *rs_gtk_box_new(bool is_vertical, int spacing) {
    return gtk_box_new(is_vertical ? VERTICAL : HORIZONTAL, spacing);
}
void rs_gtk_box_append(rs_gtk_widget *box, rs_gtk_widget *child) { gtk_box_append(box, child); }
void rs_gtk_hold(rs_gtk_widget *widget) { g_object_ref(widget); }
void rs_gtk_release(rs_gtk_widget *widget) { g_object_unref(widget); }
void rs_gtk_box_remove(rs_gtk_widget *box, rs_gtk_widget *child) { gtk_box_remove(box, child); }

rs_gtk_widget *rs_gtk_scroller_new(rs_gtk_widget *child) {
    widget scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_child(scroller, child);
    gtk_scrolled_window_set_policy(scroller, POLICY_NEVER, POLICY_AUTOMATIC);
    gtk_scrolled_window_set_propagate_natural_height(scroller, 1);
    return scroller;
}

void rs_gtk_scroller_set_heights(rs_gtk_widget *scroller, int minimum, int maximum) {
    // The maximum must not be below the minimum at any time.
    gtk_scrolled_window_set_min_content_height(scroller, -1);
    gtk_scrolled_window_set_max_content_height(scroller, maximum);
    gtk_scrolled_window_set_min_content_height(scroller, minimum > 0 ? minimum : -1);
}

// MARK: What is shown

rs_gtk_widget *rs_gtk_label_new(const char *text) {
    widget label = gtk_label_new(text);
    gtk_label_set_wrap(label, 1);
    gtk_label_set_wrap_mode(label, WRAP_WORD_CHARACTER);
    gtk_label_set_xalign(label, 0);
    // Its natural height is that of wrapped lines, about as wide as the window.
    gtk_label_set_max_width_chars(label, 48);
    return label;
}
void rs_gtk_label_set_text(rs_gtk_widget *label, const char *text) { gtk_label_set_text(label, text); }

// The GIF decoder of gdk-pixbuf takes five bytes a pixel of the full size: 240 MiB for the largest attachment, as much
// as the process may use.
static bool takes_too_much_memory(void *format, int width, int height) {
    char *name = gdk_pixbuf_format_get_name(format);
    bool is_gif = strcmp(name, "gif") == 0;
    g_free(name);
    return is_gif && (int64_t)width * height > MAX_GIF_PIXELS;
}

// Decodes an image at about the size at which it is shown. Returns NULL if that is not possible.
static void *texture_new(const char *path, int max_width, int max_height, int *width, int *height) {
    void *format = gdk_pixbuf_get_file_info(path, width, height);
    if (format == NULL) {
        // Without the database of MIME types, gdk-pixbuf recognises no file. GTK itself reads PNG, JPEG and TIFF, in
        // their full size.
        void *image = gdk_texture_new_from_filename(path, NULL);
        *width = image != NULL ? gdk_texture_get_width(image) : 0;
        *height = image != NULL ? gdk_texture_get_height(image) : 0;
        return image;
    }
    if (*width <= 0 || *height <= 0 || takes_too_much_memory(format, *width, *height)) { return NULL; }
    // At most twice the size on the screen, for dense screens. An image of 50 million pixels takes 200 MB in its full
    // size. Baseline JPEG is decoded at the smaller scale; of the other formats, one image at a time is large.
    int pixel_width = *width < 2 * max_width ? *width : 2 * max_width;
    int pixel_height = *height < 2 * max_height ? *height : 2 * max_height;
    void *pixels = gdk_pixbuf_new_from_file_at_scale(path, pixel_width, pixel_height, 1, NULL);
    if (pixels == NULL) { return NULL; }
    void *image = gdk_texture_new_for_pixbuf(pixels);
    g_object_unref(pixels);
    return image;
}

rs_gtk_widget *rs_gtk_picture_new(const char *path, const char *description, int max_width, int max_height) {
    int width = 0, height = 0;
    void *image = texture_new(path, max_width, max_height, &width, &height);
    if (image == NULL) { return NULL; }
    widget picture = gtk_picture_new_for_paintable(image);
    g_object_unref(image);
    gtk_picture_set_can_shrink(picture, 1);
    gtk_picture_set_alternative_text(picture, description);
    // A picture that can shrink has no height of its own.
    double scale = width > max_width ? (double)max_width / width : 1;
    if (height * scale > max_height) { scale = (double)max_height / height; }
    gtk_widget_set_size_request(picture, -1, (int)(height * scale));
    return picture;
}

rs_gtk_widget *rs_gtk_progress_new(void) { return gtk_progress_bar_new(); }
void rs_gtk_progress_set(rs_gtk_widget *progress, double fraction) { gtk_progress_bar_set_fraction(progress, fraction); }

rs_gtk_widget *rs_gtk_spinner_new(void) { return gtk_spinner_new(); }
void rs_gtk_spinner_set(rs_gtk_widget *spinner, bool is_on) {
    if (is_on) {
        gtk_spinner_start(spinner);
    } else {
        gtk_spinner_stop(spinner);
    }
}

// MARK: Controls

rs_gtk_widget *rs_gtk_button_new(const char *title, rs_gtk_handler clicked, void *context) {
    widget button = gtk_button_new_with_label(title);
    // A long title is cut, and does not make the window wider than the screen.
    gtk_label_set_ellipsize(gtk_button_get_child(button), ELLIPSIZE_END);
    connect(button, "clicked", (void (*)(void))signal_received, clicked, context);
    return button;
}
void rs_gtk_button_set_title(rs_gtk_widget *button, const char *title) { gtk_button_set_label(button, title); }

rs_gtk_widget *rs_gtk_slider_new(
    double min, double max, double step, int decimals, rs_gtk_handler changed, void *context
) {
    widget slider = gtk_scale_new_with_range(HORIZONTAL, min, max, step);
    gtk_scale_set_draw_value(slider, 1);
    // GTK derives them from the size of the step, and rounds values to them: those of 0.25 to one decimal.
    gtk_scale_set_digits(slider, decimals);
    connect(slider, "value-changed", (void (*)(void))signal_received, changed, context);
    return slider;
}
double rs_gtk_slider_value(rs_gtk_widget *slider) { return gtk_range_get_value(slider); }
void rs_gtk_slider_set_value(rs_gtk_widget *slider, double value) { gtk_range_set_value(slider, value); }

rs_gtk_widget *rs_gtk_switch_new(rs_gtk_handler changed, void *context) {
    widget control = gtk_switch_new();
    gtk_widget_set_halign(control, ALIGN_START);
    gtk_widget_set_valign(control, ALIGN_CENTER);
    connect(control, "notify::active", (void (*)(void))signal_with_argument, changed, context);
    return control;
}
bool rs_gtk_switch_is_on(rs_gtk_widget *control) { return gtk_switch_get_active(control); }
void rs_gtk_switch_set_on(rs_gtk_widget *control, bool is_on) { gtk_switch_set_active(control, is_on); }

// GTK itself limits only characters.
static void text_inserted(widget text, const char *inserted, int length, int *position, void *max_bytes) {
    int used = (int)strlen(gtk_editable_get_text(text)), fitting = (int)(intptr_t)max_bytes - used;
    if (length <= fitting) { return; }
    g_signal_stop_emission_by_name(text, "insert-text");
    // To the start of a character in UTF-8.
    while (fitting > 0 && ((unsigned char)inserted[fitting] & 0xc0) == 0x80) { fitting--; }
    if (fitting > 0) { gtk_editable_insert_text(text, inserted, fitting, position); }
}

rs_gtk_widget *rs_gtk_entry_new(const char *placeholder, int max_bytes, rs_gtk_handler activated, void *context) {
    widget entry = gtk_entry_new();
    gtk_entry_set_placeholder_text(entry, placeholder);
    void (*receiver)(void) = (void (*)(void))text_inserted;
    g_signal_connect_data(
        gtk_editable_get_delegate(entry), "insert-text", receiver, (void *)(intptr_t)max_bytes, NULL, 0
    );
    connect(entry, "activate", (void (*)(void))signal_received, activated, context);
    return entry;
}
const char *rs_gtk_entry_text(rs_gtk_widget *entry) { return gtk_editable_get_text(entry); }
void rs_gtk_entry_set_text(rs_gtk_widget *entry, const char *text) { gtk_editable_set_text(entry, text); }

// MARK: All widgets

void rs_gtk_set_sensitive(rs_gtk_widget *widget, bool is_sensitive) { gtk_widget_set_sensitive(widget, is_sensitive); }
void rs_gtk_set_visible(rs_gtk_widget *widget, bool is_visible) { gtk_widget_set_visible(widget, is_visible); }
void rs_gtk_expand(rs_gtk_widget *widget, bool is_vertical) {
    if (is_vertical) {
        gtk_widget_set_vexpand(widget, 1);
    } else {
        gtk_widget_set_hexpand(widget, 1);
    }
}
void rs_gtk_set_width(rs_gtk_widget *widget, int width) { gtk_widget_set_size_request(widget, width, -1); }
void rs_gtk_set_margin(rs_gtk_widget *widget, int margin) {
    gtk_widget_set_margin_start(widget, margin);
    gtk_widget_set_margin_end(widget, margin);
    gtk_widget_set_margin_top(widget, margin);
    gtk_widget_set_margin_bottom(widget, margin);
}
void rs_gtk_add_class(rs_gtk_widget *widget, const char *name) { gtk_widget_add_css_class(widget, name); }
void rs_gtk_focus(rs_gtk_widget *widget) { gtk_widget_grab_focus(widget); }
