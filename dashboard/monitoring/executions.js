// Asynq's pages know tasks, not executions: a small list of the executions whose ids are on the page leads to theirs.
const place = document.querySelector("script[data-executions]").dataset.executions;
const box = document.createElement("details");
const title = document.createElement("summary");
const list = document.createElement("ul");
box.append(title, list);
box.className = "pawl-executions";
box.hidden = true;

let shown = "";
const look = () => {
  const text = document.getElementById("root")?.innerText ?? "";
  const ids = [...new Set(`${location.pathname} ${text}`.match(/exec_[0-9]{2}[0-9A-HJKMNP-TV-Z]{26}/g) ?? [])].slice(0, 50);
  if (ids.join() === shown) return;
  shown = ids.join();
  box.hidden = ids.length === 0;
  title.textContent = ids.length === 1 ? "1 execution on this page" : `${ids.length} executions on this page`;
  list.replaceChildren(...ids.map((id) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = place + id;
    link.textContent = id;
    item.append(link);
    return item;
  }));
};

let waiting = 0;
new MutationObserver(() => {
  clearTimeout(waiting);
  waiting = setTimeout(look, 200);
}).observe(document.getElementById("root") ?? document.body, { childList: true, subtree: true, characterData: true });
document.body.append(box);
look();
