/** The relay's door: what it answers where objects that it is told of cannot be read, or never can. */
import { describe, expect, test } from "vitest";
import { createSigner } from "../../../infra/relay/send.ts";
import { BATCH_CONTENT_TYPE } from "../../../shared/events/cloud-event.ts";
import { CANNED_POD, CANNED_VMI, type CannedAnswers, configured, POD } from "../../support/canned-cluster.ts";
import { startCannedCluster } from "../../support/canned-cluster.ts";
import { entry, NOW, openDoors } from "../../support/doors.ts";
import { type Behaviour, html, json, status, type Stub } from "../../support/answers.ts";

const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
const sign = createSigner(SECRET);

const event = (type: string, data: { readonly namespace?: string; readonly name: string; readonly uid?: string }) => ({
  specversion: "1.0",
  id: `${type}/${data.name}`,
  source: "/relay",
  type: `dev.lifeboat.${type}.v1`,
  data,
});
const WEB = event("vmi.changed", { namespace: "apps", name: "web", uid: "uid-of-web" });
const OTHER = event("vmi.changed", { namespace: "apps", name: "other", uid: "uid-of-other" });
const LAUNCHER = event("pod.disrupted", { ...POD, uid: CANNED_POD.metadata.uid });
const NODE = event("node.changed", { name: "node01" });

const WITHOUT_BUDGETS = configured({ disruptionBudgets: "Never" });

async function deliver(answers: CannedAnswers, ...events: readonly object[]) {
  const server = startCannedCluster({ configuration: WITHOUT_BUDGETS, ...answers });
  const doors = openDoors({ CLUSTERS: { prod: entry(server.url, { relaySecret: SECRET }) } });
  const body = JSON.stringify(events);
  const headers = { "content-type": BATCH_CONTENT_TYPE, ...sign(body, NOW) };
  const { code } = await doors.request("/clusters/prod/events", { method: "POST", headers, body });
  await doors.settle();
  return { code, server, log: doors.log };
}

/** VMIs whose requests came through to the reconcile: it asks for their Evacuations. */
const asked = ({ requests }: Stub) =>
  requests.flatMap(
    ({ query }) => /spec\.virtualMachineInstance\.name=(\w+)/.exec(query.get("fieldSelector") ?? "")?.[1] ?? [],
  );

const ODD_VMI = json({ ...CANNED_VMI, spec: { evictionStrategy: 7 } });
const ODD_POD = json({ ...CANNED_POD, metadata: { ...CANNED_POD.metadata, labels: { a: 1 } } });
const ODD_NODE = json({
  kind: "Node",
  metadata: { name: "node01", uid: "u", resourceVersion: "1" },
  spec: { taints: 7 },
});
/** Of VMIs, one is odd and the others are not there. */
const oneOdd: Behaviour = (request, signal) =>
  (request.path.endsWith("/web") ? ODD_VMI : status(404, "NotFound"))(request, signal);

const NUMERIC = { ...CANNED_VMI.spec, domain: { memory: { guest: 1073741824 } } };

describe("a delivery about", () => {
  // prettier-ignore
  test.each<[string, number, why: string, object, CannedAnswers]>([
    ["a VMI",                                  204, "it has been looked at",           WEB,      {}],
    ["a VMI with memory.guest as a number",    204, "that is a quantity, too",         WEB,      { vmi: json({ ...CANNED_VMI, spec: NUMERIC }) }],
    ["a VMI that cannot be understood",        204, "it will be the same next time",   WEB,      { vmi: ODD_VMI }],
    ["a pod that cannot be understood",        204, "likewise",                        LAUNCHER, { pod: ODD_POD }],
    ["a pod of such a VMI",                    204, "likewise",                        LAUNCHER, { vmi: ODD_VMI }],
    ["a node that cannot be understood",       204, "likewise",                        NODE,     { node: ODD_NODE }],
    ["a VMI, and a proxy answers with a page", 503, "the next answer may be the VMI",  WEB,      { vmi: html(200) }],
    ["a VMI, and a proxy answers in JSON",     503, "likewise",                        WEB,      { vmi: json({ error: "overloaded" }) }],
    ["a pod, and a proxy answers in JSON",     503, "likewise",                        LAUNCHER, { pod: json({ error: "overloaded" }) }],
    ["a VMI, and the API server fails",        503, "the relay sends it again",        WEB,      { vmi: status(500, "InternalError") }],
    ["a VMI that may not be read",             503, "until the permission is there",   WEB,      { vmi: status(403, "Forbidden") }],
  ])("%s: %i, %s", async (...[, code, , told, answers]) => {
    expect((await deliver(answers, told)).code).toBe(code);
  });
});

describe("an object that cannot be understood costs only itself", () => {
  // prettier-ignore
  test.each<[string, CannedAnswers, object]>([
    ["a VMI",                        { vmi: oneOdd },                    WEB],
    ["a pod",                        { pod: ODD_POD },                   LAUNCHER],
    ["a node",                       { node: ODD_NODE },                NODE],
  ])("%s: what else the delivery is about is looked at, and the log names the object", async (_, answers, odd) => {
    const { code, server, log } = await deliver(answers, odd, OTHER, NODE);
    expect(code).toBe(204);
    expect(asked(server)).toContain("other");
    expect(JSON.stringify(log)).toContain('"reason":"Unintelligible"');
  });

  test("a pod that cannot be read now: the rest is looked at, and all of it is sent again", async () => {
    const { code, server } = await deliver({ pod: status(500, "InternalError") }, LAUNCHER, OTHER, NODE);
    expect([code, asked(server)]).toEqual([503, expect.arrayContaining(["other"])]);
  });
});
