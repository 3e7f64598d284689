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

const outdated = (part) => {
  if (part.querySelector("[data-outdated]")) return;
  const note = document.createElement("p");
  note.className = "note warn";
  note.dataset.outdated = "yes";
  note.setAttribute("role", "status");
  note.textContent = "This changed while you were filling it in. ";
  const again = document.createElement("a");
  again.href = document.body.dataset.here;
  again.textContent = "Load it anew";
  note.append(again);
  part.prepend(note);
};

const look = async () => {
  const response = await fetch(document.body.dataset.here, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (response.redirected) { location.reload(); return null; } // the session has ended
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
  if (!live) return;
  const answer = writing();
  let waiting = 0;
  let again = false;
  let ended = false;
  let later = 0;
  const source = new EventSource(live);
  // What its stream does not tell of, such as its children, is looked at now and then.
  const lookLater = (body) => {
    clearTimeout(later);
    if (body.dataset.again) later = setTimeout(changed, Number(body.dataset.again));
  };
  const refresh = async () => {
    waiting = 1;
    again = false;
    try {
      const fresh = await look();
      if (fresh && !fresh.body.dataset.live) { ended = true; source.close(); say("", ""); }
      lookLater((fresh ?? document).body);
    } catch {
      say("off", "reconnecting…");
      lookLater(document.body);
    }
    setTimeout(() => { waiting = 0; if (again) refresh(); }, Number(pace));
  };
  const changed = () => { if (waiting) again = true; else refresh(); };
  source.addEventListener("open", () => { say("on", "live"); });
  source.addEventListener("error", () => {
    if (ended) return;
    if (source.readyState === EventSource.CLOSED) { say("", ""); changed(); } else say("off", "reconnecting…");
  });
  for (const type of types.split(" ")) {
    source.addEventListener(type, (event) => {
      if (type === "tool_progress" || type === "agent_event") return;
      if (type === "text_delta") { answer.piece(JSON.parse(event.data)); return; }
      if (type === "model_completed" || type.startsWith("execution_")) answer.done();
      changed();
    });
  }
  lookLater(document.body);
  window.addEventListener("pagehide", () => { clearTimeout(later); source.close(); });
};

follow();
