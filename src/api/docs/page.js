// Fills the page, and answers the filter and the keyboard. All URLs are relative to the page, so that the page is right
// under any prefix.

import { Api, matches } from "./render.js";

const filter = document.getElementById("filter");
const count = document.getElementById("count");
const list = document.getElementById("operations");
const main = document.getElementById("contents");

async function read(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.json();
}

async function show() {
  try {
    const api = new Api(...await Promise.all([read("openapi.json"), read("docs/samples.json")]));
    list.innerHTML = api.navigation();
    main.innerHTML = api.contents();
    applyFilter();
    followAnchor();
  } catch (error) {
    document.getElementById("state").textContent = `The description of the API cannot be shown: ${error.message}`;
  } finally {
    main.removeAttribute("aria-busy");
  }
}

/** Shows the operations that have every word of the filter, and the nouns that have such operations. */
function applyFilter() {
  const items = [...list.querySelectorAll("li")];
  for (const item of items) item.hidden = !matches(filter.value, item.dataset.words);
  for (const noun of list.querySelectorAll(".noun")) noun.hidden = !noun.querySelector("li:not([hidden])");
  count.textContent = `${items.filter((item) => !item.hidden).length} of ${items.length} operations`;
}

/** Scrolls to the place that the URL names, and marks the place in the list. */
function followAnchor() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (const link of list.querySelectorAll("a")) {
    if (target && link.hash === location.hash) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
  if (target) target.scrollIntoView();
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** `/` goes to the filter, the arrows go along the list, and Enter in the filter opens the first operation. */
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event;
  const links = () => [...list.querySelectorAll("a")].filter((link) => !link.closest("[hidden]"));
  const inList = list.contains(target);
  let next;
  if (key === "/" && target !== filter) next = filter;
  else if (target === filter && key === "Enter") next = list.querySelector("li:not([hidden]) a");
  else if (target === filter && key === "ArrowDown") next = links()[0];
  else if (inList && key === "ArrowDown") next = links()[links().indexOf(target) + 1];
  else if (inList && key === "ArrowUp") next = links()[links().indexOf(target) - 1] ?? filter;
  else if (target === filter && key === "Escape") {
    filter.value = "";
    applyFilter();
  }
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (key === "Enter") next.click();
}

filter.addEventListener("input", applyFilter);
document.addEventListener("keydown", pressed);
window.addEventListener("hashchange", followAnchor);
show();
