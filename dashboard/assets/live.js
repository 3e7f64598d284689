// Following: whenever something happens to what a page shows, its parts are fetched anew and those that changed are replaced.

const label = document.querySelector("[data-live-state]");

const say = (state, text) => {
  if (!label || label.textContent === text) return;
  label.className = `livestate ${state}`;
  label.textContent = text;
};

// A part is busy while somebody is filling it in.
const busy = (part) => {
  for (const control of part.querySelectorAll("input:not([type=hidden]), textarea, select")) {
    if (control === document.activeElement) return true;
    if (control.type === "radio" || control.type === "checkbox") {
      if (control.checked !== control.defaultChecked) return true;
    } else if (control.options) {
      if ([...control.options].some((o) => o.selected !== o.defaultSelected) && control.selectedIndex > 0) return true;
    } else if (control.value !== control.defaultValue) return true;
  }
  return false;
};

// Names of operations differ from page to page and say nothing of what happened.
const essence = (part) => part.outerHTML
  .replace(/name="key" value="[^"]*"/g, "")
  .replace(/(<time[^>]*data-ago[^>]*>)[^<]*/g, "$1")
  .replace(/ open=""/g, "");

const replace = (old, fresh) => {
  const open = new Set([...old.querySelectorAll("details[open]")].map((d) => d.id));
  const focus = old.contains(document.activeElement) ? document.activeElement : null;
  const place = focus && (focus.id ? `#${CSS.escape(focus.id)}` : focus.getAttribute("href") ? `a[href="${CSS.escape(focus.getAttribute("href"))}"]` : null);
  const scrolled = [...old.querySelectorAll(".scroll")].map((s) => s.scrollLeft);
  const next = document.importNode(fresh, true);
  for (const details of next.querySelectorAll("details")) if (details.id && open.has(details.id)) details.open = true;
  old.replaceWith(next);
  next.querySelectorAll(".scroll").forEach((s, i) => { s.scrollLeft = scrolled[i] ?? 0; });
  if (place) next.querySelector(place)?.focus({ preventScroll: true });
};

const note = (part, text, label, place) => {
  const last = part.querySelector("[data-note]");
  if (last?.firstChild.textContent === text) return last.querySelector("a");
  last?.remove();
  const box = document.createElement("p");
  box.className = "note warn";
  box.dataset.note = "yes";
  box.setAttribute("role", "status");
  box.textContent = text;
  const link = document.createElement("a");
  link.href = place;
  link.textContent = label;
  box.append(link);
  part.prepend(box);
  return link;
};

const outdated = (part) => note(part, "This changed while you were filling it in. ", "Load it anew", document.body.dataset.here);

// What was filled in is worth more than a page that is new: whoever is filling something in is told that the session has ended.
const leave = () => {
  const part = [...document.querySelectorAll("[data-part]")].find(busy);
  if (!part) { location.reload(); return; }
  note(part, "Your session has ended. Log in on a page beside this one, then send this. ", "Log in", "/dashboard/login").target = "_blank";
};

const look = async () => {
  const response = await fetch(document.body.dataset.here, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (response.redirected) { leave(); return null; } // the session has ended
  if (!response.ok) return null;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  const parts = new Map([...fresh.querySelectorAll("[data-part]")].map((p) => [p.dataset.part, p]));
  for (const old of document.querySelectorAll("[data-part]")) {
    const next = parts.get(old.dataset.part);
    parts.delete(old.dataset.part);
    if (next && essence(old) === essence(next)) continue;
    if (busy(old)) {
      if (!next || next.dataset.key !== old.dataset.key) outdated(old);
      continue;
    }
    if (next) replace(old, next); else old.remove();
  }
  // A part that is new goes behind the one before it.
  for (const [, next] of parts) {
    const before = next.previousElementSibling;
    const anchor = before && (before.dataset.part
      ? document.querySelector(`[data-part="${before.dataset.part}"]`)
      : before.id && document.getElementById(before.id));
    const copy = document.importNode(next, true);
    if (anchor) anchor.after(copy);
    else if (next.parentElement.tagName === "MAIN") document.querySelector("main").append(copy);
    else document.querySelector(".split > div")?.prepend(copy);
  }
  return fresh;
};

// The answer that is being written: pieces say how much of it comes before them.
const writing = () => {
  let invocation = "";
  let text = [];
  const box = document.querySelector("[data-answering]");
  const show = () => {
    if (!box) return;
    box.hidden = text.length === 0;
    box.querySelector("[data-answer]").textContent = text.join("");
  };
  return {
    piece(frame) {
      if (!frame.invocationId) return;
      if (frame.invocationId !== invocation) { invocation = frame.invocationId; text = []; }
      const offset = frame.offset ?? 0;
      if (offset < text.length) text.length = offset;
      text.push(...(frame.text ?? ""));
      show();
    },
    done() { text = []; show(); },
  };
};

const follow = () => {
  const { live, types, pace } = document.body.dataset;
  const answer = writing();
  let source = null;
  let seen = document.body; // of the page as it was last looked at
  let waiting = 0;
  let again = false;
  let later = 0;
  // What its stream does not tell of, such as its children, is looked at now and then.
  const lookLater = () => {
    clearTimeout(later);
    if (seen.dataset.again) later = setTimeout(changed, Number(seen.dataset.again));
  };
  const quiet = () => {
    source?.close();
    source = null;
    say("", "");
  };
  const refresh = async () => {
    waiting = 1;
    again = false;
    try {
      const fresh = await look();
      if (fresh) seen = fresh.body;
      if (!seen.dataset.live) quiet(); else if (source?.readyState === EventSource.OPEN) say("on", "live");
    } catch {
      say("off", "reconnecting…");
    }
    lookLater();
    setTimeout(() => { waiting = 0; if (again) refresh(); }, Number(pace));
  };
  const changed = () => { if (waiting) again = true; else refresh(); };
  const hear = (event) => {
    const { type } = event;
    if (type === "tool_progress" || type === "agent_event") return;
    if (type === "text_delta") { answer.piece(JSON.parse(event.data)); return; }
    if (type === "model_completed" || type.startsWith("execution_")) answer.done();
    changed();
  };
  const listen = () => {
    lookLater();
    if (!live || !seen.dataset.live) return;
    source = new EventSource(live);
    source.addEventListener("open", () => { say("on", "live"); });
    source.addEventListener("error", (event) => {
      if (event.target !== source) return;
      if (source.readyState === EventSource.CLOSED) { say("", ""); changed(); } else say("off", "reconnecting…");
    });
    for (const type of types.split(" ")) source.addEventListener(type, hear);
  };
  listen();
  window.addEventListener("pagehide", () => { clearTimeout(later); source?.close(); });
  // A page that the browser has kept, and shows again, is as it was when it was left.
  window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); changed(); } });
};

follow();
