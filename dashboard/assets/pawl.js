// What the scripts add to pages that work without them: times stay true, text that is to be JSON is checked before it is sent, a
// form is sent once, and a page follows what it shows (live.js).

// Ages are counted on.
const age = (ms) => {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor(s / 60) % 60}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`;
};
setInterval(() => {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    time.textContent = `${age(Date.now() - Number(time.dataset.ago))} ago`;
  }
}, 1000);

// A text that must be JSON says so at once.
const check = (area) => {
  let problem = "";
  if (area.value.trim() !== "") {
    try { JSON.parse(area.value); } catch (error) { problem = error.message; }
  }
  let note = area.parentElement.querySelector(".invalid");
  if (!note) {
    note = document.createElement("span");
    note.className = "invalid";
    note.setAttribute("role", "status");
    area.after(note);
  }
  note.textContent = problem && `This is not JSON: ${problem}`;
  area.setAttribute("aria-invalid", problem ? "true" : "false");
};
document.addEventListener("input", (event) => {
  if (event.target.matches("textarea[data-json]")) check(event.target);
});

// What an issuer sent is of no use to anybody any more, and stays in no history.
if (location.pathname.startsWith("/dashboard/login/")) history.replaceState(null, "", document.body.dataset.here);

// A form is sent once.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
