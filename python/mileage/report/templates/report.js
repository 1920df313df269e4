"use strict";
(function () {
  function all(selector, root) { return Array.from((root || document).querySelectorAll(selector)); }
  var copy = document.getElementById("copy");
  copy.addEventListener("click", function () {
    var range = document.createRange(), selection = window.getSelection();
    range.selectNodeContents(document.getElementById("command"));
    selection.removeAllRanges();
    selection.addRange(range);
    var done = document.execCommand("copy");
    copy.textContent = done ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(function () { copy.textContent = "Copy the command"; }, 3000);
  });

  var table = document.getElementById("all-cells");
  if (!table) { return; }
  document.documentElement.classList.add("scripted");
  var rows = all("tbody tr[data-places]", table);
  rows.forEach(function (row) {
    row.places = JSON.parse(row.getAttribute("data-places"));
    row.words = row.textContent.toLowerCase();
  });

  function value(row, column) {
    var cell = row.children[column];
    var stored = cell.getAttribute("data-value");
    if (stored === null) { return cell.textContent.trim(); }
    return stored === "" ? null : Number(stored);
  }
  function compare(a, b) {
    if (a === null || b === null) { return (a === null) - (b === null); }
    return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  }
  all("thead button", table).forEach(function (button) {
    button.addEventListener("click", function () {
      var head = button.closest("th"), column = Array.from(head.parentNode.children).indexOf(head);
      var falling = head.getAttribute("aria-sort") === "ascending";
      all("thead th", table).forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      all("tbody", table).forEach(function (body) {
        var own = rows.filter(function (row) { return row.parentNode === body; });
        own.sort(function (a, b) {
          var x = value(a, column), y = value(b, column);
          return x === null || y === null ? compare(x, y) : (falling ? -1 : 1) * compare(x, y);
        });
        own.forEach(function (row) { body.appendChild(row); });
      });
    });
  });

  var search = document.getElementById("filter"), verdict = document.getElementById("verdict-choice");
  var rowChoice = document.getElementById("row-choice"), columnChoice = document.getElementById("column-choice");
  var status = document.getElementById("shown"), pivot = document.getElementById("pivot");

  function element(name, text, className) {
    var made = document.createElement(name);
    if (text !== undefined) { made.textContent = text; }
    if (className) { made.className = className; }
    return made;
  }
  function natural(a, b) { return size(a) - size(b) || a.localeCompare(b, "en", { numeric: true }); }
  function size(text) {
    var found = /^([\d.]+) ?(KiB|MiB|GiB|TiB|B)\b/.exec(text);
    return found ? Number(found[1]) * { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, TiB: 1099511627776 }[found[2]] : 0;
  }
  function draw(shown) {
    pivot.textContent = "";
    var across = columnChoice.value, down = rowChoice.value;
    if (!across || !down || across === down) { return; }
    var columns = [], lines = [], fields = {};
    shown.forEach(function (row) {
      var a = row.places[down] || "", b = row.places[across] || "";
      if (lines.indexOf(a) < 0) { lines.push(a); }
      if (columns.indexOf(b) < 0) { columns.push(b); }
      var key = JSON.stringify([a, b]);
      (fields[key] = fields[key] || []).push(row);
    });
    lines.sort(natural); columns.sort(natural);
    var made = element("table"), head = element("tr");
    head.appendChild(element("th", down + " \\ " + across)).scope = "col";
    columns.forEach(function (name) { head.appendChild(element("th", name || "–", "number")).scope = "col"; });
    made.appendChild(element("caption", "Change, its verdict, both means and n; of several cells their geometric mean."));
    made.appendChild(element("thead")).appendChild(head);
    var body = made.appendChild(element("tbody"));
    lines.forEach(function (a) {
      var line = body.appendChild(element("tr"));
      line.appendChild(element("th", a || "–")).scope = "row";
      columns.forEach(function (b) {
        line.appendChild(field(fields[JSON.stringify([a, b])] || []));
      });
    });
    pivot.appendChild(made);
  }
  function field(own) {
    var made = element("td", "", "number");
    if (own.length === 1) {
      var cells = own[0].children;
      made.textContent = cells[1].textContent.trim().charAt(0) + " " + cells[2].firstChild.textContent.trim();
      var low = cells[6].firstChild.textContent.trim(), high = cells[7].firstChild.textContent.trim();
      made.appendChild(element("small", low + " → " + high + ", p " + cells[5].firstChild.textContent.trim() +
        ", n " + cells[own[0].children.length - 1].textContent.trim()));
    } else if (own.length) {
      var sum = 0, count = 0;
      own.forEach(function (row) {
        var ratio = value(row, 4);
        if (ratio) { sum += Math.log(ratio); count += 1; }
      });
      var change = count ? (Math.exp(sum / count) - 1) * 100 : NaN;
      made.textContent = count ? (change > 0 ? "+" : "") + change.toFixed(1) + " %" : "n/a";
      made.appendChild(element("small", own.length + " cells"));
    }
    return made;
  }
  function filter() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = rows.filter(function (row) {
      var kept = (!verdict.value || row.getAttribute("data-verdict") === verdict.value) &&
        words.every(function (word) { return row.words.indexOf(word) >= 0; });
      row.hidden = !kept;
      return kept;
    });
    status.textContent = shown.length + " of " + rows.length + " rows";
    draw(shown.filter(function (row) { return row.getAttribute("data-headline") === "1" || !rows.some(
      function (other) { return other.getAttribute("data-headline") === "1"; }); }));
  }
  [search, verdict, rowChoice, columnChoice].forEach(function (control) { control.addEventListener("input", filter); });
  filter();
})();
