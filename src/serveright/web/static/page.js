// The page reads without this. It redraws on a changed control, keeps back and forward working, draws pictures, copies, and takes dropped files.
const words = document.body.dataset;
const page = () => document.getElementById("page");

// theme: a preference of this browser, not part of the address
const saved = localStorage.getItem("theme");
if (saved) document.documentElement.dataset.theme = saved;
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
document.addEventListener("click", (event) => {
  if (event.target.id !== "theme") return;
  const next = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
  drawAll(true);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));

// one address, one page: fetch it, put its content in, keep focus
let latest = 0;
async function go(address, push) {
  const turn = ++latest;
  const state = document.getElementById("state");
  const slow = setTimeout(() => ((state.hidden = false), (state.textContent = words.updating)), 250);
  page().ariaBusy = "true";
  let answer, next;
  try {
    answer = await fetch(address, { headers: { accept: "text/html" } });
    next = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    location.assign(address); // the browser's own message is the best one
    return;
  } finally {
    clearTimeout(slow);
    state.hidden = turn === latest;
  }
  if (turn !== latest) return;
  const focused = document.activeElement?.name;
  const open = [...document.querySelectorAll("details.controls")].map((item) => item.open);
  const top = scrollY;
  page().replaceWith(next.getElementById("page"));
  document.querySelector(".tools").replaceWith(next.querySelector(".tools"));
  document.querySelectorAll("details.controls").forEach((item, i) => (item.open = open[i] ?? item.open));
  document.title = next.title;
  if (push) history.pushState(null, "", answer.url);
  if (focused) document.querySelector(`[data-live] [name="${focused}"]`)?.focus({ preventScroll: true });
  scrollTo(0, top);
  ready();
}
addEventListener("popstate", () => go(location.href, false));

function ready() {
  for (const form of document.querySelectorAll("form[data-live]")) {
    const submit = (event) => {
      event?.preventDefault();
      const data = [...new FormData(form)].filter(([, value]) => value !== "");
      go(`${form.getAttribute("action")}?${new URLSearchParams(data)}`, true);
    };
    form.addEventListener("submit", submit);
    form.addEventListener("change", () => submit());
  }
  for (const form of document.querySelectorAll("form[data-drop]")) {
    const over = (on) => (event) => (event.preventDefault(), form.classList.toggle("over", on));
    form.addEventListener("dragover", over(true));
    form.addEventListener("dragleave", over(false));
    form.addEventListener("drop", (event) => {
      over(false)(event);
      if (!event.dataTransfer.files.length) return;
      form.querySelector("input[type=file]").files = event.dataTransfer.files;
      form.requestSubmit();
    });
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = words.copied;
      setTimeout(() => (button.textContent = label), 1500);
    });
  }
  const tells = document.querySelector(".config .tells");
  if (tells) tells.parentElement.scrollTop = tells.offsetTop - tells.parentElement.offsetTop - 40;
  if (matchMedia("(max-width: 860px)").matches && document.querySelector("#content .head")) document.querySelectorAll("details.controls").forEach((item) => (item.open = false));
  drawAll(false);
}

// pictures: drawn when they come into view, by the library that the server's own renderer ships
let library;
const vega = () => (library ??= import("/static/vega.js"));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((item) => item.isIntersecting)) {
    watcher.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "300px" });
function drawAll(again) {
  for (const figure of document.querySelectorAll("figure.chart")) again && figure.drawn ? draw(figure) : watcher.observe(figure);
}
function theme() {
  const style = getComputedStyle(document.body);
  const fg = style.getPropertyValue("color");
  const quiet = { labelColor: fg, titleColor: fg, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelLimit: 260 };
  const line = dark() ? "#3a444f" : "#dfe3e8";
  return {
    background: "transparent", font: style.fontFamily, view: { stroke: null }, legend: { ...quiet },
    axis: { ...quiet, gridColor: line, domainColor: line, tickColor: line }, text: { fill: fg, fontSize: 12 }, rule: { color: fg }, tick: { color: fg },
  };
}
// the two colours of the palette that are too dark on a dark page
const NIGHT = { "#0072B2": "#4C9FE0", "#994F00": "#C98A4B" };
async function draw(figure) {
  const place = figure.querySelector(".canvas");
  let text = figure.querySelector("script").textContent;
  if (dark()) for (const [day, night] of Object.entries(NIGHT)) text = text.replaceAll(day, night);
  if (place.clientWidth < 420) text = text.replace(/"columns":\d/g, '"columns":2');
  const spec = JSON.parse(text);
  try {
    await vega();
    const options = { renderer: "svg", actions: false, ast: true, defaultStyle: false, config: theme(), tooltip };
    await globalThis.vegaEmbed(place, { ...spec, width: "container", autosize: { type: "fit-x", contains: "padding" } }, options);
    figure.drawn = true;
  } catch (error) {
    place.textContent = words.drawing;
    figure.querySelector("details").open = true;
    console.warn(error);
  }
}
function tooltip(_handler, event, _item, value) {
  const tip = document.getElementById("tip");
  tip.hidden = value == null || value === "";
  if (tip.hidden) return;
  tip.textContent = typeof value === "object" ? Object.entries(value).map(([key, text]) => `${key}: ${text}`).join("\n") : value;
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 220)}px`;
  tip.style.top = `${event.clientY + 14}px`;
}
ready();
