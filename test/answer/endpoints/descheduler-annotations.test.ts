/** What annotating launcher pods costs, and how it is proven to be permitted. */
import { beforeEach, describe, expect, test } from "vitest";
import { tryAnnotating } from "../../../functions/conditions.ts";
import type { Before } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { pod, vmi } from "../../support/fixtures.ts";
import { ONLY } from "../../support/launchers.ts";
import { CANNED_POD, list } from "../../support/canned-cluster.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";
import { json, status } from "../../support/answers.ts";
import { canned } from "../../support/kube/connected.ts";

const GATE = { featureGates: { DeschedulerSupport: true } };

let fake: FakeCluster;
let asked: string[];
beforeEach(() => {
  fake = new FakeCluster();
  asked = [];
  fake.vmis.put(vmi());
  fake.pods.put(pod());
});

/** Everything else is as it should be: nothing to do but to annotate. */
function open(keys: { readonly featureGates: object } = GATE, before?: Before) {
  fake.configure({ ...keys, disruptionBudgets: "Never", evacuation: { adoptSeconds: 0 } });
  return openFakeDoors(fake, (request, how) => {
    if (how?.query.has("dryRun") !== true) asked.push(request);
    return before?.(request);
  });
}

const askedFor = (name: string) => asked.filter((request) => request === name);

describe("a full scan", () => {
  test("lists launcher pods once, and annotates those that lack something", async () => {
    expect((await open().reconcile()).body).toEqual({ done: { AnnotatePod: 1 }, failures: 0 });
    expect(fake.pods.get(pod())?.annotations).toHaveProperty([ONLY], "");
    expect(askedFor("list pods kubevirt.io=virt-launcher")).toHaveLength(1);
    expect((await open().reconcile()).body).toEqual({ done: {}, failures: 0 });
    expect(askedFor("patch pods")).toHaveLength(1);
  });
});

describe("tried by a patch that changes nothing", () => {
  // prettier-ignore
  test.each([
    ["permitted",                      list(CANNED_POD), json(CANNED_POD),           "Done",          1],
    ["a pod that has gone meanwhile",  list(CANNED_POD), status(404, "NotFound"),    "Done",          1],
    ["forbidden",                      list(CANNED_POD), status(403, "Forbidden"),   /403 Forbidden/, 1],
    ["no launcher pod",                list(),           status(403, "Forbidden"),   "Done",          0],
  ])("%s", async (...[, pods, other, expected, patches]) => {
    const { cluster, requests } = canned({ list: pods, other });
    expect(await tryAnnotating(cluster).then(() => "Done", String)).toMatch(expected);
    const [listed, ...tried] = requests;
    expect(listed?.query.get("labelSelector")).toBe("kubevirt.io=virt-launcher");
    expect(tried).toHaveLength(patches);
    for (const { method, body, query } of tried) {
      expect({ method, body }).toEqual({
        method: "PATCH",
        body: [{ op: "test", path: "/metadata/uid", value: CANNED_POD.metadata.uid }],
      });
      expect(query.get("dryRun")).toBe("All");
    }
  });
});
