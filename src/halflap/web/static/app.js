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
        "font-size": 11,
        height: (node) => 14 * node.data("label").split("\n").length + 2,
        label: "data(label)",
        padding: "8px",
        shape: "round-rectangle",
        "text-max-width": "280px",
        "text-valign": "center",
        "text-wrap": "wrap",
        width: (node) => Math.min(280, 6.6 * Math.max(...node.data("label").split("\n").map((line) => line.length)) + 6),
      },
    },
    { selector: "node[kind = 'server']", style: { "background-color": css("--accent-soft"), "border-color": css("--accent"), "font-size": 13, padding: "14px" } },
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
        "font-size": 9,
        label: "data(label)",
        "line-color": css("--line-strong"),
        "target-arrow-color": css("--line-strong"),
        "target-arrow-shape": "triangle",
        "text-margin-y": -8,
        "text-background-color": css("--page"),
        "text-background-opacity": 0.85,
        width: 1.2,
      },
    },
    { selector: "edge[!label]", style: { label: "" } },
    { selector: "edge[kind = 'servers']", style: { label: "data(count)", width: 2 } },
    { selector: "edge[kind = 'optional'], edge[kind = 'partial']", style: { "line-style": "dashed" } },
    { selector: ":selected", style: { "border-color": css("--accent"), "border-width": 2, "line-color": css("--accent"), "target-arrow-color": css("--accent") } },
    { selector: ".here", style: { "background-color": css("--accent"), color: css("--page"), "border-color": css("--accent") } },
    { selector: ".stuck", style: { "background-color": css("--bad"), color: css("--page"), "border-color": css("--bad") } },
  ];

  const NET = (labelled) => ({ name: "breadthfirst", directed: true, spacingFactor: 1.1, transform: (_, at) => ({ x: at.y * (labelled ? 2.6 : 1.5), y: at.x * 0.6 }) });
  const SMALLEST = 0.55; // below this, names can't be read

  // What is linked is drawn as a graph, and what is not as rows below it.
  const arrangeGraph = (picture) => {
    const shape = picture.width() / picture.height();
    const linked = picture.edges().filter((edge) => !edge.isLoop()).connectedNodes();
    const alone = picture.nodes().difference(linked);
    let bottom = 0;
    if (linked.nonempty()) {
      linked.union(linked.edgesWith(linked)).layout({
        name: "cose", animate: false, randomize: true, fit: false, nodeDimensionsIncludeLabels: true, componentSpacing: 60,
        nodeRepulsion: () => 1200000, nodeOverlap: 40, idealEdgeLength: () => 90, gravity: 1, numIter: 1500,
      }).run();
      const box = linked.boundingBox();
      const stretch = Math.max(1, Math.min(3, (shape * box.h) / box.w)); // names are wide
      linked.positions((node) => ({ x: (node.position("x") - box.x1) * stretch, y: node.position("y") }));
      bottom = box.y2 + 80;
    }
    const columns = Math.ceil(Math.sqrt((alone.length * shape * 80) / 190));
    alone.sort((a, b) => a.id().localeCompare(b.id())).forEach((node, at) => {
      node.position({ x: (at % columns) * 190, y: bottom + Math.floor(at / columns) * 80 });
    });
    picture.fit(undefined, 24);
    if (picture.zoom() < SMALLEST) picture.zoom(SMALLEST).center(linked.nonempty() ? linked.max((node) => node.degree()).ele : alone);
  };

  const draw = (place, data, kind) => {
    place.textContent = "";
    const picture = window.cytoscape({
      container: place,
      elements: { nodes: data.nodes, edges: data.edges },
      layout: kind === "net" ? NET(data.edges.some((edge) => edge.data.label)) : { name: "null" },
      maxZoom: 2.5,
      minZoom: 0.05,
      style: style(),
    });
    if (kind !== "net") arrangeGraph(picture);
    if (picture.zoom() > 1.4) picture.zoom(1.4).center();
    drawings.set(place.id, picture);
    return picture;
  };

  const detail = (address) => window.htmx.ajax("GET", address, { target: "#detail" });

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
    const note = document.getElementById("graph-note");
    if (note) note.textContent = data.note || (data.nodes.length ? "" : "No links with this confidence.");
    const picture = draw(place, data, "graph");
    const confidence = new URLSearchParams(place.dataset.source.split("?")[1]).get("confidence");
    picture.on("tap", "node[kind = 'server']", (event) => {
      location.href = `/graph?server=${encodeURIComponent(event.target.id())}&confidence=${confidence}`;
    });
    picture.on("tap", "node[kind = 'tool']", (event) => {
      location.href = `/tools/${encodeURIComponent(event.target.id())}`;
    });
    picture.on("tap", "edge", (event) => {
      const edge = event.target;
      if (edge.data("kind") === "servers") return;
      detail(`/graph/link?from=${encodeURIComponent(edge.data("source"))}&to=${encodeURIComponent(edge.data("target"))}`);
    });
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

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-trace]");
    if (button) play(button);
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
  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  document.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));
})();
