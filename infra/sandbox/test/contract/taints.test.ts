/** Taints of nodes: which are refused at creation and at a change. */
import { contract } from "./contract.ts";
import { del, get, patch, post } from "./requests.ts";

contract("taints", ({ asks, given, namespace }) => {
  const node = `/api/v1/nodes/${namespace}`;
  const taints = [{ key: "k", value: "v", effect: "NoSchedule" }];
  const unseen = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  asks("a new node takes no pods yet", post("/api/v1/nodes", { metadata: { name: namespace } }), {
    code: 201,
    "spec.taints": [unseen],
  });
  const stained = { metadata: { name: `${namespace}-y` }, spec: { taints: [...taints, unseen] } };
  asks("nor one that says so itself, once", post("/api/v1/nodes", stained), {
    code: 201,
    "spec.taints": [...taints, unseen],
  });
  given("it goes", del(`${node}-y`));
  const unselected = `/api/v1/nodes?fieldSelector=spec.unschedulable%3Dfalse,metadata.name%3D${namespace}`;
  asks("a node that was never cordoned is selectable", get(unselected), {
    code: 200,
    "items.metadata.name": [namespace],
  });
  const wrong: readonly (readonly [string, readonly object[], RegExp])[] = [
    [
      "effect",
      [{ key: "a", effect: "Nope" }],
      /taints\[0\]\.effect: Unsupported value: "Nope": supported values: "NoSch/,
    ],
    ["missing effect", [...taints, { key: "a" }], /: metadata\.taints\[1\]\.effect: Required value$/],
    [
      "missing key",
      [{ effect: "NoSchedule" }],
      /metadata\.taints\[0\]\.key: Invalid value: "": name part must be non-empty/,
    ],
    ["value", [{ key: "a", value: "b c", effect: "NoSchedule" }], /\.value: Invalid value: "b c": a valid label must /],
    ["second", [...taints, ...taints], /: metadata\.taints\[1\]: Duplicate value: /],
  ];
  for (const [what, each, message] of wrong) {
    const name = `${namespace}-x`;
    asks(`a wrong taint: ${what}`, patch(node, "merge", { spec: { taints: each } }), { code: 422, message });
    asks(`created with it: ${what}`, post("/api/v1/nodes", { metadata: { name }, spec: { taints: each } }), {
      code: 422,
      message,
    });
  }
  const both = [taints[0], { ...taints[0], effect: "NoExecute" }];
  asks("one key with two effects", patch(node, "merge", { spec: { taints: both } }), {
    code: 200,
    "spec.taints": both,
  });
  asks("it goes", del(node), { code: 200 });
});
