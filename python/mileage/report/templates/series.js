"use strict";
/* Time series: the values under the pointer, and a zoom by dragging along the axis. Drawings work without this. */
(function () {
  var SVG = "http://www.w3.org/2000/svg", STEPS = [1, 2, 5, 10];
  function all(selector, root) { return Array.from(root.querySelectorAll(selector)); }
  function made(name, values, parent) {
    var one = document.createElementNS(SVG, name);
    Object.keys(values).forEach(function (key) { one.setAttribute(key, values[key]); });
    return parent.appendChild(one);
  }
  function figure(value) { return value.toLocaleString("en", { maximumSignificantDigits: 4 }); }
  /* The corners of a path; null where it is interrupted. */
  function corners(path) {
    var found = [], at = [0, 0];
    (path.getAttribute("d") || "").replace(/([MLHV])([^A-Za-z]*)/g, function (whole, letter, rest) {
      var numbers = (rest.match(/-?[\d.]+(?:e-?\d+)?/gi) || []).map(Number);
      at = letter === "H" ? [numbers[0], at[1]] : letter === "V" ? [at[0], numbers[0]] : numbers.slice(0, 2);
      if (letter === "M" && found.length) { found.push(null); }
      found.push(at);
    });
    return found;
  }
  function height(points, x) {
    for (var i = 1; i < points.length; i += 1) {
      var a = points[i - 1], b = points[i];
      if (a && b && a[0] <= x && x <= b[0] && b[0] > a[0]) {
        return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]);
      }
    }
    return null;
  }
  function value(axis, pixel, size) {
    var share = 1 - pixel / size, low = axis.y[0], high = axis.y[1];
    return axis.log ? low * Math.pow(high / low, share) : low + (high - low) * share;
  }
  function panel(ground, axis) {
    var numbers = ground.getAttribute("d").match(/-?[\d.]+/g).map(Number), group = ground.parentNode;
    var lines = all(".mark-line path", group).filter(function (path) { return path.getAttribute("stroke"); });
    var below = all(".role-axis", group).filter(function (part) {
      var moved = /,\s*([\d.]+)/.exec(part.firstElementChild.getAttribute("transform") || "");
      return moved && Number(moved[1]) > 1;
    });
    return { ground: ground, group: group, axis: axis, width: numbers[2], height: numbers[3],
      below: [].concat.apply([], below.map(function (part) { return all(".role-axis-label, .role-axis-tick, .role-axis-grid", part); })),
      lines: lines.map(function (path) { return { colour: getComputedStyle(path).stroke, points: corners(path) }; }) };
  }
  function series(svg, axes) {
    var grounds = all("path.background", svg).filter(function (path) {
      return all(".mark-line", path.parentNode).length && !all("path.background", path.parentNode).some(
        function (other) { return other !== path && all(".mark-line", other.parentNode).length; });
    });
    if (!grounds.length || grounds.length !== axes.length) { return; }
    var panels = grounds.map(function (ground, at) { return panel(ground, axes[at]); });
    var first = panels[0], zoom = [0, first.width], from = null;
    var last = panels[panels.length - 1], unit = last.axis.title || "";
    var readout = document.createElement("p"), back = document.createElement("button");
    readout.className = "readout screen";
    readout.textContent = "Point at the figure to read values; drag along it to zoom.";
    back.type = "button"; back.className = "screen"; back.textContent = "Show all"; back.hidden = true;
    svg.parentNode.insertBefore(readout, svg.nextSibling);
    readout.parentNode.insertBefore(back, readout.nextSibling);
    svg.style.setProperty("touch-action", "pan-y");
    var pointers = panels.map(function (own) {
      return made("line", { y1: 0, y2: own.height, stroke: "#4b5563", visibility: "hidden", "pointer-events": "none" }, own.group);
    });
    var shade = made("rect", { y: 0, height: first.height, fill: "#4b5563", opacity: 0.2, visibility: "hidden" }, first.group);
    function place(event) {
      var point = new DOMPoint(event.clientX, event.clientY).matrixTransform(first.ground.getScreenCTM().inverse());
      return Math.min(Math.max(point.x, 0), first.width);
    }
    function unzoomed(x) { return zoom[0] + (zoom[1] - zoom[0]) * x / first.width; }
    function along(x) { return first.axis.x[0] + (first.axis.x[1] - first.axis.x[0]) * x / first.width; }
    function read(x) {
      var words = panels.map(function (own) {
        var found = {};
        own.lines.forEach(function (line) {
          var y = height(line.points, unzoomed(x) * own.width / first.width);
          if (y !== null) { (found[line.colour] = found[line.colour] || []).push(value(own.axis, y, own.height)); }
        });
        var parts = Object.keys(found).map(function (colour) {
          var low = figure(Math.min.apply(null, found[colour])), high = figure(Math.max.apply(null, found[colour]));
          return { colour: colour, text: low === high ? low : low + " to " + high };
        });
        return { name: own.axis.name, parts: parts };
      });
      readout.textContent = unit + " " + figure(along(unzoomed(x)));
      words.forEach(function (own) {
        if (!own.parts.length) { return; }
        readout.appendChild(document.createTextNode("; " + own.name + " "));
        own.parts.forEach(function (part, at) {
          var square = document.createElement("span");
          square.textContent = "\u25a0 "; square.style.color = part.colour;
          readout.appendChild(document.createTextNode(at ? ", " : ""));
          readout.appendChild(square);
          readout.appendChild(document.createTextNode(part.text));
        });
      });
    }
    function ticks(low, high) {
      var raw = (high - low) / 6, power = Math.pow(10, Math.floor(Math.log10(raw))), found = [];
      var step = power * STEPS.find(function (one) { return one * power >= raw; });
      for (var at = Math.ceil(low / step) * step; at <= high; at += step) { found.push(at); }
      return found;
    }
    function show() {
      var scale = first.width / (zoom[1] - zoom[0]), whole = scale === 1;
      panels.forEach(function (own, number) {
        all(".mark-line, .mark-rect, .mark-rule", own.group).forEach(function (part) {
          if (part.closest(".role-axis")) { return; }
          if (whole) { part.removeAttribute("transform"); part.style.clipPath = ""; return; }
          part.setAttribute("transform", "translate(" + (-zoom[0] * scale) + ",0) scale(" + scale + ",1)");
          part.style.clipPath = "polygon(" + [[zoom[0], 0], [zoom[1], 0], [zoom[1], own.height], [zoom[0], own.height]]
            .map(function (corner) { return corner[0] + "px " + corner[1] + "px"; }).join(",") + ")";
          part.style.transformBox = "view-box";
          all("path, line, rect", part).forEach(function (mark) { mark.setAttribute("vector-effect", "non-scaling-stroke"); });
        });
        all(".mark-text.role-mark text", own.group).forEach(function (text) {
          var y = Number((/,\s*(-?[\d.]+)/.exec(text.getAttribute("transform") || "") || [0, 0])[1]);
          text.style.visibility = whole || y < 0 ? "" : "hidden";
        });
        own.below.forEach(function (part) { part.style.visibility = whole ? "" : "hidden"; });
        all(".zoomed", own.group).forEach(function (old) { old.remove(); });
        if (whole) { return; }
        ticks(along(zoom[0]), along(zoom[1])).forEach(function (at) {
          var share = (at - first.axis.x[0]) / (first.axis.x[1] - first.axis.x[0]) * own.width;
          var x = (share - zoom[0] * own.width / first.width) * scale;
          made("line", { class: "zoomed", x1: x, x2: x, y1: 0, y2: own.height, stroke: "#e6e9ee" }, own.group);
          if (number === panels.length - 1) {
            made("text", { class: "zoomed", x: x, y: own.height + 16, "text-anchor": "middle", "font-family": "Arial, sans-serif",
              "font-size": "12px", fill: "#4b5563" }, own.group).textContent = figure(at);
          }
        });
      });
      back.hidden = whole;
    }
    svg.addEventListener("pointermove", function (event) {
      var x = place(event);
      pointers.forEach(function (line, at) {
        var own = x * panels[at].width / first.width;
        line.setAttribute("x1", own); line.setAttribute("x2", own); line.setAttribute("visibility", "visible");
      });
      if (from !== null) {
        shade.setAttribute("x", Math.min(from, x)); shade.setAttribute("width", Math.abs(x - from));
        shade.setAttribute("visibility", "visible");
      }
      read(x);
    });
    svg.addEventListener("pointerleave", function () {
      pointers.forEach(function (line) { line.setAttribute("visibility", "hidden"); });
    });
    svg.addEventListener("pointerdown", function (event) { from = place(event); event.preventDefault(); });
    window.addEventListener("pointerup", function (event) {
      if (from === null) { return; }
      var to = place(event), ends = [unzoomed(Math.min(from, to)), unzoomed(Math.max(from, to))];
      from = null; shade.setAttribute("visibility", "hidden");
      if (ends[1] - ends[0] > 0.01 * first.width) { zoom = ends; show(); }
    });
    back.addEventListener("click", function () { zoom = [0, first.width]; show(); });
  }
  all("[data-axes]", document).forEach(function (part) {
    var svg = part.querySelector("svg");
    if (svg) { series(svg, JSON.parse(part.getAttribute("data-axes"))); }
  });
})();
