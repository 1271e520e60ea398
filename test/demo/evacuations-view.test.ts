/** `kubectl get evacuations`, where there is no kubectl. */
import { expect, test } from "vitest";
import { renderEvacuations } from "../../infra/demo/evacuations-view.ts";
import type { Evacuation } from "../../infra/tools/evacuations.ts";
import { PLAIN } from "./screens.ts";

function evacuation(namespace: string, vm: string, status?: Evacuation["status"]): Evacuation {
  const metadata = { namespace, name: `${vm}-1`, uid: vm, resourceVersion: "1", creationTimestamp: "" };
  return {
    metadata,
    spec: { virtualMachineInstance: { name: vm }, cause: "ApiEviction" },
    ...(status && { status }),
  };
}

const moved = { sourceNode: "node-1", targetNode: "node-2", phase: "Moved", attempts: 1 };

test("as kubectl shows them, in the order of namespace and VM", () => {
  const found = [evacuation("shop", "web"), evacuation("batch", "render", moved)];
  expect(renderEvacuations(found, PLAIN)).toEqual([
    "$ kubectl get evacuations --all-namespaces",
    "NAMESPACE   VM       FROM     TO       CAUSE         PHASE   ATTEMPTS",
    "batch       render   node-1   node-2   ApiEviction   Moved   1",
    "shop        web                        ApiEviction",
  ]);
});

test("no line is wider than the terminal", () => {
  for (const line of renderEvacuations([evacuation("shop", "web", moved)], { width: 40, colour: false }).slice(1))
    expect(line.length).toBeLessThanOrEqual(40);
});
