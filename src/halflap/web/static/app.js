// What pages do in the browser: drawings, playing a trace, and forms that submit themselves.
"use strict";

(() => {
  // The computed value of a colour: what the theme makes of `light-dark()`.
  const css = (name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(${name})`;
    const color = getComputedStyle(probe).color;
    probe.remove();
    return color;
  };
  const drawings = new Map();
  const LONGEST = 36; // characters of a line in a node
  const lines = (node) => node.data("label").split("\n");
  const drop = (edge) => edge.target().position("y") - edge.source().position("y");

  const style = () => [
    {
      selector: "node",
      style: {
        "background-color": css("--surface"),
        "border-color": css("--line-strong"),
        "border-width": 1,
        color: css("--text"),
        "font-family": "ui-sans-serif, system-ui, sans-serif",
        "font-size": 12,
        height: (node) => 16 * lines(node).reduce((sum, line) => sum + Math.ceil(line.length / LONGEST), 0) + 2,
        label: "data(label)",
        "line-height": 1.25,
        padding: "6px",
        shape: "round-rectangle",
        "text-max-width": `${7.4 * LONGEST}px`,
        "text-overflow-wrap": "anywhere",
        "text-valign": "center",
        "text-wrap": "wrap",
        width: (node) => 7.4 * Math.min(LONGEST, Math.max(...lines(node).map((line) => line.length))) + 4,
      },
    },
    { selector: "node[kind = 'cluster']", style: { "background-color": css("--accent-soft"), "border-color": css("--accent") } },
    { selector: "node[kind = 'condition']", style: { shape: "ellipse", width: 24, height: 24, padding: 0 } },
    { selector: "node[kind = 'foreign'], node[kind = 'silent']", style: { "border-style": "dashed", color: css("--faint") } },
    { selector: "node[kind = 'change']", style: { "border-color": css("--bad"), "background-color": css("--bad-soft") } },
    {
      selector: "edge",
      style: {
        "arrow-scale": 0.8,
        color: css("--faint"),
        "curve-style": "bezier",
        "font-family": "ui-sans-serif, system-ui, sans-serif",
        "font-size": 11,
        label: "data(label)",
        "line-color": css("--line-strong"),
        "target-arrow-color": css("--line-strong"),
        "target-arrow-shape": "triangle",
        "text-background-color": css("--page"),
        "text-background-opacity": 0.9,
        "text-background-padding": "2px",
        width: 1.2,
      },
    },
    { selector: "edge[!label]", style: { label: "" } },
    { selector: "edge[weight]", style: { width: "data(weight)" } },
    { selector: "edge[kind = 'optional'], edge[kind = 'partial']", style: { "line-style": "dashed" } },
    {
      // Between nodes of one column, a straight arrow would run behind those between them.
      selector: ".bent",
      style: {
        "control-point-distances": (edge) => 20 + 0.3 * Math.abs(drop(edge)),
        "control-point-weights": 0.5,
        "curve-style": "unbundled-bezier",
        "edge-distances": "endpoints",
        "source-endpoint": (edge) => (drop(edge) > 0 ? "270deg" : "90deg"),
        "target-endpoint": (edge) => (drop(edge) > 0 ? "270deg" : "90deg"),
      },
    },
    { selector: "edge[?weak]", style: { display: "none" } },
    { selector: "edge.lit", style: { display: "element" } },
    { selector: ".dimmed", style: { opacity: 0.15 } },
    { selector: "edge.lit", style: { "line-color": css("--accent"), "target-arrow-color": css("--accent"), width: 2 } },
    { selector: ":selected", style: { "border-color": css("--accent"), "border-width": 2, "line-color": css("--accent"), "target-arrow-color": css("--accent") } },
    { selector: ".here", style: { "background-color": css("--accent"), color: css("--page"), "border-color": css("--accent") } },
    { selector: ".stuck", style: { "background-color": css("--bad"), color: css("--page"), "border-color": css("--bad") } },
  ];

  const SMALLEST = 0.75; // below this, names can't be read
  const LARGEST = 1.4;
  const MARGIN = 24;
  const GAP = 22; // between nodes of a column

  // Show everything if it is readable then, else the beginning.
  const fit = (picture) => {
    picture.fit(undefined, MARGIN);
    const zoom = Math.min(LARGEST, Math.max(SMALLEST, picture.zoom()));
    const box = picture.elements().boundingBox();
    const start = (from, size, room) => (size * zoom > room ? MARGIN : (room - size * zoom) / 2) - from * zoom;
    picture.zoom(zoom);
    picture.pan({ x: start(box.x1, box.w, picture.width()), y: start(box.y1, box.h, picture.height()) });
  };

  // Put linked nodes into columns from left to right: first those that nothing leads to, then those they lead to.
  // A column of more than `rows` nodes is split.
  const arrange = (nodes, rows) => {
    const row = nodes.max((node) => node.outerHeight()).value + GAP;
    const height = (node) => node.neighborhood("node").filter((one) => placed.has(one.id())).map((one) => one.position("y"));
    const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / (numbers.length || 1);
    const placed = new Set();
    const place = (column, x) => {
      const width = column.max((node) => node.outerWidth()).value;
      column.forEach((node, at) => node.position({ x: x + width / 2, y: (at - (column.length - 1) / 2) * row }));
      const labels = column.outgoers("edge").map((edge) => (edge.data("label") || "").length);
      return x + width + Math.max(2 * GAP, Math.min(260, 6.6 * Math.max(...labels, 0) + 40));
    };
    let left = nodes.sort((a, b) => b.outdegree() - b.indegree() - (a.outdegree() - a.indegree()));
    let level = left.roots();
    for (let x = 0; left.nonempty(); level = level.outgoers("node").intersection(left)) {
      if (level.empty()) level = left.slice(0, 1);
      const sorted = level.sort((a, b) => mean(height(a)) - mean(height(b)));
      const size = Math.ceil(sorted.length / Math.ceil(sorted.length / rows));
      for (let at = 0; at < sorted.length; at += size) x = place(sorted.slice(at, at + size), x);
      level.forEach((node) => placed.add(node.id()));
      left = left.difference(level);
    }
  };

  const arrangeNet = (picture) => {
    arrange(picture.nodes(), Infinity);
    fit(picture);
  };

  // Groups of linked nodes fill rows, the largest first; nodes without links come last, in columns.
  const arrangeGraph = (picture) => {
    const weak = picture.remove("edge[?weak]");
    const shape = picture.width() / picture.height();
    const needed = (nodes) => nodes.reduce((sum, node) => sum + (node.outerWidth() + 2 * GAP) * (node.outerHeight() + GAP), 0);
    const linked = picture.edges().filter((edge) => !edge.isLoop()).connectedNodes();
    const groups = linked.union(linked.edgesWith(linked)).components().map((group) => group.nodes());
    for (const nodes of groups) {
      const row = nodes.max((node) => node.outerHeight()).value + GAP;
      arrange(nodes, Math.max(4, Math.round((1.4 * Math.sqrt(needed(nodes) / shape)) / row)));
    }
    groups.sort((a, b) => b.length - a.length);
    const alone = picture.nodes().difference(linked).sort((a, b) => a.id().localeCompare(b.id(), undefined, { numeric: true }));
    const all = [...groups, ...alone.map((node) => node)];
    const column = Math.max(0, ...alone.map((node) => node.outerWidth()));
    const widest = Math.max(Math.sqrt(needed(picture.nodes()) * shape) + column, ...groups.map((nodes) => nodes.boundingBox().w));
    let [x, y, below] = [0, 0, 0];
    for (const one of all) {
      const box = one.boundingBox({ includeEdges: false });
      const width = alone.contains(one) ? column : box.w;
      if (x && x + width > widest) [x, y] = [0, below];
      one.shift({ x: x - box.x1 + (width - box.w) / 2, y: y - box.y1 });
      x += width + 40;
      below = Math.max(below, y + box.h + 40);
    }
    weak.restore();
    picture.edges().filter((edge) => Math.abs(edge.source().position("x") - edge.target().position("x")) < 20).addClass("bent");
    fit(picture);
  };

  const draw = (place, data, kind) => {
    place.textContent = "";
    const picture = window.cytoscape({
      container: place,
      elements: { nodes: data.nodes, edges: data.edges },
      layout: { name: "null" },
      maxZoom: 2.5,
      minZoom: 0.05,
      style: style(),
      userZoomingEnabled: kind !== "net", // a page with many small drawings should scroll
    });
    (kind === "net" ? arrangeNet : arrangeGraph)(picture);
    drawings.set(place.id, picture);
    return picture;
  };

  // Dim everything except a node or an arrow and its neighbours.
  const light = (picture, element) => {
    const around = element.isNode() ? element.closedNeighborhood() : element.union(element.connectedNodes());
    picture.batch(() => {
      picture.elements().removeClass("lit").addClass("dimmed");
      around.removeClass("dimmed").addClass("lit");
    });
  };
  const unlight = (picture) => picture.elements().removeClass("dimmed lit");

  // The details lie over the right side of the drawing: move what they are about out from under them.
  const uncover = (picture, element, details) => {
    if (getComputedStyle(details).position !== "absolute") return;
    const hidden = element.renderedBoundingBox().x2 - (details.offsetLeft - MARGIN);
    if (hidden > 0) picture.panBy({ x: -hidden, y: 0 });
  };

  const drawGraph = async (place) => {
    const answer = await fetch(place.dataset.source, { headers: { Accept: "application/json" } });
    if (answer.status === 202) {
      place.textContent = "The links are being computed …";
      setTimeout(() => drawGraph(place), 1000);
      return;
    }
    if (!answer.ok) {
      place.textContent = "The graph could not be loaded. Reload the page.";
      return;
    }
    const data = await answer.json();
    document.getElementById("graph-note").textContent = data.note || (data.nodes.length ? "" : "No links with this confidence.");
    const picture = draw(place, data, "graph");
    picture.on("tap", "node, edge", async (event) => {
      const { open, detail } = event.target.data();
      if (open) {
        location.href = open;
        return;
      }
      await window.htmx.ajax("GET", detail, { target: "#detail" });
      uncover(picture, event.target, document.getElementById("detail"));
    });
    let chosen = null;
    picture.on("tap", (event) => {
      chosen = event.target === picture ? null : event.target;
      if (chosen) return light(picture, chosen);
      document.getElementById("detail").textContent = "";
      unlight(picture);
    });
    picture.on("mouseover", "node, edge", (event) => light(picture, event.target));
    picture.on("mouseout", "node, edge", () => (chosen ? light(picture, chosen) : unlight(picture)));
  };

  const drawAll = (root) => {
    if (!window.cytoscape) return;
    for (const place of root.querySelectorAll("[data-drawing]")) {
      draw(place, JSON.parse(place.dataset.drawing), place.dataset.layout || "net");
      delete place.dataset.drawing;
    }
    for (const place of root.querySelectorAll("#graph[data-source]")) drawGraph(place);
  };

  const play = (button) => {
    const picture = drawings.get(button.dataset.net);
    if (!picture) return;
    document.getElementById(button.dataset.net).scrollIntoView({ block: "center" });
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const steps = JSON.parse(button.dataset.trace);
    picture.elements().removeClass("here stuck");
    steps.forEach((name, at) => {
      setTimeout(() => {
        picture.elements(".here").removeClass("here");
        const node = picture.getElementById(name);
        node.addClass(at === steps.length - 1 ? "stuck" : "here");
      }, calm ? 0 : at * 700);
    });
  };

  const zoom = (button) => {
    const picture = drawings.get("graph");
    if (!picture) return;
    if (button.dataset.zoom === "fit") picture.fit(undefined, MARGIN);
    else picture.zoom({ level: picture.zoom() * Number(button.dataset.zoom), renderedPosition: { x: picture.width() / 2, y: picture.height() / 2 } });
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-trace], [data-zoom]");
    if (button) (button.dataset.zoom ? zoom : play)(button);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-autosubmit]");
    if (form) form.requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      const search = document.querySelector("input[type=search]");
      event.preventDefault();
      if (search) search.focus();
      else location.href = "/tools";
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const picture of drawings.values()) picture.style(style());
  });
  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  document.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
  // A running run is not replaced while somebody reads the values of one of its calls.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target.matches("[data-live]") && event.target.querySelector("details[open]")) event.preventDefault();
  });
})();
