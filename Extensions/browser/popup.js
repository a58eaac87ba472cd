// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

"use strict";

const api = globalThis.browser ?? globalThis.chrome;

function show({ isConnected, offers, problem, page }) {
  const items = offers.map((offer) => {
    const button = document.createElement("button");
    const place = document.createElement("small");
    // Texts of other systems are shown as text, never as markup.
    button.textContent = offer.title;
    place.textContent = `${offer.application} on ${offer.system}`;
    button.append(place);
    button.addEventListener("click", () => api.runtime.sendMessage({ type: "continue", id: offer.id }));
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  document.getElementById("offers").replaceChildren(...items);
  document.getElementById("page").textContent = page;
  const note = isConnected ? "No other machine offers a page." : "Not connected to remotesystems.";
  document.getElementById("note").textContent = problem || (offers.length && isConnected ? "" : note);
}

api.runtime.onMessage.addListener((message) => {
  if (message.type === "state" && message.state) show(message.state);
});
api.runtime.sendMessage({ type: "state" }).then(show);
