/** What annotating launcher pods costs. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Before } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { pod, vmi } from "../../support/fixtures.ts";
import { ONLY } from "../../support/launchers.ts";
import { openFakeDoors } from "../../support/fake-doors.ts";

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
