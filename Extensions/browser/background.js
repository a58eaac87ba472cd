// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Offers the active tab to the other systems of the account, and opens the pages that are continued here.

"use strict";

const api = globalThis.browser ?? globalThis.chrome;
const HOST = "org.remotesystems.browser";
const MAX_RETRY_DELAY = 60_000;

let port = null;
let retryDelay = 1_000;
/** What the program was told last, as JSON. */
let reported = "";
let reportedURL = null;
let pendingReport = null;
/** What the popup shows. */
const state = { isConnected: false, offers: [], problem: "", page: "", isHandedOver: false };
/** Nothing is known of the page that the user sees. */
const NO_PAGE = { page: "", isHandedOver: false };

function connect() {
  if (port) return;
  port = api.runtime.connectNative(HOST);
  reported = "";
  port.onMessage.addListener(received);
  port.onDisconnect.addListener(() => {
    const reason = port?.error?.message ?? api.runtime.lastError?.message;
    port = null;
    change({ ...NO_PAGE, isConnected: false, offers: [], problem: state.problem || reason || "The program has ended." });
    setTimeout(connect, retryDelay);
    retryDelay = Math.min(retryDelay * 2, MAX_RETRY_DELAY);
  });
}

async function received(message) {
  switch (message.type) {
    case "ready":
      retryDelay = 1_000;
      change({ isConnected: true, problem: "" });
      reported = "";
      report();
      break;
    case "offers":
      change({ offers: message.offers });
      break;
    case "open": {
      const failure = await open(message.url);
      port?.postMessage({ type: "opened", number: message.number, ...(failure ? { failure } : {}) });
      break;
    }
    case "continued":
      change({ problem: "" });
      break;
    case "handed-over":
      change({ page: `${named(message)} is continued on ${message.system}.`, isHandedOver: true });
      break;
    case "returned":
      change({
        page: `${message.system} could not continue ${named(message)}. It is offered again.`,
        isHandedOver: false,
      });
      break;
    case "failed":
      change({ problem: message.message });
      break;
  }
}

function named(message) {
  return message.title ? `“${message.title}”` : "the page";
}

/** Opens a page in a new tab. Returns why it could not. */
async function open(address) {
  const url = webAddress(address);
  if (!url) return "It is not a web address.";
  try {
    const windows = await api.windows.getAll({ windowTypes: ["normal"] });
    if (windows.some((window) => !window.incognito)) {
      await api.tabs.create({ url, active: true });
    } else {
      await api.windows.create({ url });
    }
    return null;
  } catch (error) {
    return String(error.message ?? error);
  }
}

/** An http or https address without a user name and password; null for any other one. */
function webAddress(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  url.username = "";
  url.password = "";
  return url.href;
}

/** Tells the program which page the user sees, a moment after the last change. */
function report() {
  connect();
  clearTimeout(pendingReport);
  pendingReport = setTimeout(async () => {
    const message = await currentPage();
    const text = JSON.stringify(message);
    if (!port || !state.isConnected || text === reported) return;
    reported = text;
    port.postMessage(message);
    // A page may change its title while the user is on it.
    if (message.url !== reportedURL && (state.page || state.problem)) change({ ...NO_PAGE, problem: "" });
    reportedURL = message.url;
  }, 150);
}

async function currentPage() {
  const inFront = await api.tabs.query({ active: true, lastFocusedWindow: true });
  // Firefox returns none while a private window is in front: the last page of a normal window stays offered.
  const tabs = inFront.length ? inFront : await api.tabs.query({ active: true });
  const tab = tabs.sort((one, other) => other.lastAccessed - one.lastAccessed)[0];
  const url = tab && !tab.incognito ? webAddress(tab.url ?? "") : null;
  return url ? { type: "page", url, title: tab.title ?? "" } : { type: "leave" };
}

function change(values) {
  Object.assign(state, values);
  const count = state.offers.length ? String(state.offers.length) : "";
  // The user sees the badge beside the page that goes on elsewhere.
  api.action.setBadgeText({ text: state.isHandedOver ? "→" : count });
  // Fails while no popup is open.
  api.runtime.sendMessage({ type: "state", state }).catch(() => {});
}

api.tabs.onActivated.addListener(report);
api.tabs.onRemoved.addListener(report);
api.tabs.onUpdated.addListener((_id, changes) => {
  if (changes.url || changes.title || changes.status === "complete") report();
});
api.windows.onFocusChanged.addListener((window) => {
  // No window has the focus when another program does: the user still sees the page.
  if (window !== api.windows.WINDOW_ID_NONE) report();
});
api.runtime.onMessage.addListener((message, _sender, respond) => {
  connect();
  if (message.type === "state") respond(state);
  if (message.type === "continue") port?.postMessage({ type: "continue", id: message.id });
});
api.runtime.onStartup.addListener(connect);
api.runtime.onInstalled.addListener(connect);
connect();
