/**
 * Tests that the relay's endpoint answers even if the reported objects cannot be read. After a report, Lifeboat reads
 * the objects from the API server.
 */
import { expect, test } from "vitest";
import { createSigner } from "../../../infra/relay/send.ts";
import { BATCH_CONTENT_TYPE } from "../../../shared/events/cloud-event.ts";
import { VMI_OBJECT, type Answers, configured, clusterWith } from "../../support/cluster/one-vm.ts";
import { type App, entry, openApp } from "../../support/app.ts";
import { NOW } from "../../support/fixtures.ts";
import { html, json, status } from "../../support/answers.ts";

const relaySecret = `whsec_${Buffer.from("a secret of thirty-two bytes, ok").toString("base64")}`;
const sign = createSigner(relaySecret);

const event = (type: string, data: { readonly namespace?: string; readonly name: string; readonly uid?: string }) => ({
  specversion: "1.0",
  id: `${type}/${data.name}`,
  source: "/relay",
  type: `dev.lifeboat.${type}.v1`,
  data,
});
const WEB = event("vmi.changed", { namespace: "apps", name: "web", uid: "uid-of-web" });
const NODE = event("node.changed", { name: "node01" });

const metadata = { name: "node01", uid: "u", resourceVersion: "1" };
const ODD_VMI = json({ ...VMI_OBJECT, spec: { evictionStrategy: 7 } });
const ODD_NODE = json({ kind: "Node", metadata, spec: { taints: 7 } });

// prettier-ignore
test.each<[string, number, why: string, object, Answers]>([
  ["a VMI",                                        204, "the VMI was reconciled",          WEB,      {}],
  ["a VMI that cannot be parsed",                  204, "a retry would be the same",       WEB,      { "get virtualmachineinstances": ODD_VMI }],
  ["a node that cannot be parsed",                 204, "a retry would be the same",       NODE,     { "get nodes": ODD_NODE }],
  ["a VMI whose read a proxy answers with a page", 503, "the next answer may be the VMI",  WEB,      { "get virtualmachineinstances": html(200) }],
  ["a VMI whose read the API server fails",        503, "the relay sends it again",        WEB,      { "get virtualmachineinstances": status(500, "InternalError") }],
  ["a VMI that may not be read",                   503, "until the permission is there",   WEB,      { "get virtualmachineinstances": status(403, "Forbidden") }],
])("a delivery about %s is answered %i: %s", async (...[, expected, , reported, answers]) => {
  const { url } = clusterWith({ "get lifeboatconfigurations": configured({ disruptionBudgets: "Never" }), ...answers });
  const app = openApp({ CLUSTERS: { prod: entry(url, { relaySecret }) } });
  expect(await deliver(reported, app)).toBe(expected);
});

async function deliver(reported: object, app: App): Promise<number> {
  const body = JSON.stringify([reported]);
  const headers = { "content-type": BATCH_CONTENT_TYPE, ...sign(body, NOW) };
  const { code } = await app.request("/clusters/prod/events", { method: "POST", headers, body });
  await app.settle();
  return code;
}
