/** The floor of the admission benchmark asks an API server for what KubeVirt's own webhook asks it, and for nothing else. */
import { afterEach, expect, test, vi } from "vitest";
import { type Kind, reviewOf } from "../../infra/bench/reviews.ts";
import floor from "../../infra/bench/workers/floor.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

const POD = "/api/v1/namespaces/apps/pods/virt-launcher-web-abcde";
const VMI = "/apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web";

// prettier-ignore
test.each<[Kind, readonly string[], boolean]>([
  ["ordinary", [`GET ${POD}`],                                  true],
  ["first",    [`GET ${POD}`, `GET ${VMI}`, `PATCH ${VMI}`],    false],
  ["repeat",   [`GET ${POD}`, `GET ${VMI}`],                    false],
])("a review of kind %s: %j, one after another", async (kind, calls, allowed) => {
  const asked: string[] = [];
  let open = 0;
  vi.stubGlobal("fetch", async (url: string, { method }: RequestInit) => {
    open += 1;
    asked.push(`${method} ${new URL(url).pathname}`);
    await Promise.resolve();
    expect(open).toBe(1);
    open -= 1;
    return Response.json({ status: { nodeName: "node01" } });
  });
  const body = reviewOf({ namespace: "apps", name: "virt-launcher-web-abcde" });
  const request = new Request(`http://floor/?calls=${kind}`, { method: "POST", body });
  const answer = await floor.fetch(request, { CLUSTERS: '{"bench":{"server":"http://api","token":"t"}}' });
  expect(await answer.json()).toMatchObject({ response: { allowed } });
  expect(asked).toEqual(calls);
});
