// The few things that pages do in the browser: drawings, playing a trace, and forms that send themselves.
"use strict";

(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const drawings = new Map();

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
        height: (node) => 16 * node.data("label").split("\n").length + 2,
        label: "data(label)",
        "line-height": 1.25,
        padding: "7px",
        shape: "round-rectangle",
        "text-max-width": "300px",
        "text-valign": "center",
        "text-wrap": "wrap",
        width: (node) => Math.min(300, 7.4 * Math.max(...node.data("label").split("\n").map((line) => line.length)) + 4),
      },
    },
    { selector: "node[kind = 'server']", style: { "background-color": css("--accent-soft"), "border-color": css("--accent"), padding: "12px" } },
    { selector: "node[kind = 'tool'][own = 0]", style: { "border-style": "dashed", color: css("--faint") } },
    { selector: "node[kind = 'condition']", style: { shape: "ellipse", width: 24, height: 24, padding: 0 } },
    { selector: "node[kind = 'silent']", style: { "border-style": "dashed", color: css("--faint") } },
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
    { selector: "edge[kind = 'servers']", style: { label: "data(count)", width: "data(weight)" } },
    { selector: "edge[kind = 'optional'], edge[kind = 'partial']", style: { "line-style": "dashed" } },
    { selector: ".dimmed", style: { opacity: 0.15 } },
    { selector: "edge.lit", style: { "line-color": css("--accent"), "target-arrow-color": css("--accent"), width: 2 } },
    { selector: ":selected", style: { "border-color": css("--accent"), "border-width": 2, "line-color": css("--accent"), "target-arrow-color": css("--accent") } },
    { selector: ".here", style: { "background-color": css("--accent"), color: css("--page"), "border-color": css("--accent") } },
    { selector: ".stuck", style: { "background-color": css("--bad"), color: css("--page"), "border-color": css("--bad") } },
  ];

  const SMALLEST = 0.5; // below this, names can't be read

  // A net or a plan, from left to right; columns are as wide as what is written in them and between them.
  const arrangeNet = (picture) => {
    picture.layout({ name: "breadthfirst", directed: true, fit: false, spacingFactor: 1 }).run();
    const ranks = new Map();
    picture.nodes().forEach((node) => {
      const rank = Math.round(node.position("y"));
      ranks.set(rank, [...(ranks.get(rank) || []), node]);
    });
    let x = 0;
    for (const rank of [...ranks.keys()].sort((a, b) => a - b)) {
      const nodes = ranks.get(rank).sort((a, b) => a.position("x") - b.position("x"));
      const width = Math.max(...nodes.map((node) => node.outerWidth()));
      nodes.forEach((node, at) => node.position({ x: x + width / 2, y: (at - (nodes.length - 1) / 2) * 76 }));
      const written = nodes.flatMap((node) => node.outgoers("edge").map((edge) => (edge.data("label") || "").length));
      x += width + Math.max(60, Math.min(260, 6.6 * Math.max(...written, 0) + 40));
    }
    picture.fit(undefined, 24);
  };

  // Move boxes apart that overlap, each time along the shorter way.
  const separate = (nodes, gap) => {
    const boxes = nodes.map((node) => ({ node, x: node.position("x"), y: node.position("y"), w: node.outerWidth() + gap, h: node.outerHeight() + gap }));
    for (let round = 0, moved = true; moved && round < 200; round += 1) {
      moved = false;
      boxes.forEach((one, at) => {
        for (const other of boxes.slice(at + 1)) {
          const dx = (one.w + other.w) / 2 - Math.abs(one.x - other.x);
          const dy = (one.h + other.h) / 2 - Math.abs(one.y - other.y);
          if (dx <= 0.5 || dy <= 0.5) continue;
          moved = true;
          const [axis, way] = dx < dy ? ["x", dx / 2] : ["y", dy / 2];
          const sign = one[axis] < other[axis] ? -1 : 1;
          one[axis] += sign * way;
          other[axis] -= sign * way;
        }
      });
    }
    boxes.forEach(({ node, x, y }) => node.position({ x, y }));
  };

  // Lay out one group of linked nodes, in a box of this shape that is large enough to read their names.
  const arrangeGroup = (group, shape) => {
    const nodes = group.nodes();
    group.layout({
      name: "cose", animate: false, randomize: true, fit: false, nodeDimensionsIncludeLabels: true,
      nodeRepulsion: () => 400000, nodeOverlap: 40, idealEdgeLength: () => 60, gravity: 2, numIter: 1500,
    }).run();
    const box = nodes.boundingBox();
    const area = 2 * nodes.reduce((sum, node) => sum + (node.outerWidth() + 30) * (node.outerHeight() + 30), 0);
    const height = Math.sqrt(area / shape);
    nodes.positions((node) => ({
      x: ((node.position("x") - box.x1) * height * shape) / box.w, y: ((node.position("y") - box.y1) * height) / box.h,
    }));
    separate(nodes, 24);
    return nodes;
  };

  // Groups of linked nodes fill rows, the largest first; what has no links comes last.
  const arrangeGraph = (picture) => {
    const shape = picture.width() / picture.height();
    const linked = picture.edges().filter((edge) => !edge.isLoop()).connectedNodes();
    const groups = linked.union(linked.edgesWith(linked)).components().map((group) => arrangeGroup(group, shape));
    groups.sort((a, b) => b.length - a.length);
    const alone = picture.nodes().difference(linked).sort((a, b) => a.id().localeCompare(b.id()));
    const all = [...groups, ...alone.map((node) => node)];
    const column = Math.max(0, ...alone.map((node) => node.boundingBox().w));
    const area = all.reduce((sum, one) => sum + (one.boundingBox().w + 40) * (one.boundingBox().h + 40), 0);
    const widest = Math.max(Math.sqrt(area * shape), ...groups.map((group) => group.boundingBox().w));
    let [x, y, below] = [0, 0, 0];
    for (const one of all) {
      const box = one.boundingBox();
      const width = alone.contains(one) ? column : box.w;
      if (x && x + width > widest) [x, y] = [0, below];
      one.shift({ x: x - box.x1 + (width - box.w) / 2, y: y - box.y1 });
      x += width + 40;
      below = Math.max(below, y + box.h + 40);
    }
    fit(picture);
  };

  const fit = (picture) => {
    const box = picture.elements().boundingBox();
    picture.fit(undefined, 24);
    if (picture.zoom() > 1.4) picture.zoom(1.4).center();
    if (picture.zoom() < SMALLEST) picture.zoom(SMALLEST).pan({ x: 24 - box.x1 * SMALLEST, y: 24 - box.y1 * SMALLEST });
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
    if (picture.zoom() > 1.4) picture.zoom(1.4).center();
    drawings.set(place.id, picture);
    return picture;
  };

  // Dim everything but a node or an arrow and what it is linked with.
  const light = (picture, element) => {
    const around = element.isNode() ? element.closedNeighborhood() : element.union(element.connectedNodes());
    picture.batch(() => {
      picture.elements().removeClass("lit").addClass("dimmed");
      around.removeClass("dimmed").addClass("lit");
    });
  };
  const unlight = (picture) => picture.elements().removeClass("dimmed lit");

  const detail = (address) => window.htmx.ajax("GET", address, { target: "#detail" });
  const query = (values) => new URLSearchParams(values).toString();

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
    const confidence = new URLSearchParams(place.dataset.source.split("?")[1]).get("confidence");
    picture.on("tap", "node", (event) => {
      const id = event.target.id();
      if (event.target.data("kind") === "server") location.href = `/graph?${query({ server: id, confidence })}`;
      else detail(`/tools/${encodeURIComponent(id)}/links?titled=1`);
    });
    picture.on("tap", "edge", (event) => {
      const { kind, source: from, target: to } = event.target.data();
      detail(kind === "servers" ? `/graph/between?${query({ from, to, confidence })}` : `/graph/link?${query({ from, to })}`);
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
    if (button.dataset.zoom === "fit") picture.fit(undefined, 24);
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
})();
