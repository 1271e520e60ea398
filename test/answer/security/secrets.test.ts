/** Whatever the other side says, however badly: no token and no word of it is in an answer or in the log. */
import * as fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { CANNED_POD, startCannedCluster, tokenOf } from "../../support/canned-cluster.ts";
import { type Answer, asOperator, asWebhook, type Doors, entry, NOW, openDoors, TOKENS } from "../../support/doors.ts";
import { COOKIE, signGrant } from "../../../functions/page/session.ts";
import { evictionReview } from "../../support/reviews.ts";
import { REGISTRY_KEY, sealed } from "../../support/sealed.ts";
import { SECRET_OF_UPSTREAM, type Stub } from "../../support/answers.ts";
import { filledIn, PAGES, ROUTES } from "./routes.ts";

const RELAY_SECRET = "whsec_dGhpcnR5LXR3byBieXRlcyBvZiBhIHNlY3JldC4uLi4=";
const ACCESS = "secret-of-access";
const SECRETS = [
  ...Object.values(TOKENS),
  RELAY_SECRET.replace("whsec_", ""),
  ACCESS,
  SECRET_OF_UPSTREAM,
  REGISTRY_KEY,
];

interface Said {
  readonly code: number;
  readonly text: string;
}

const onlyProd = async () => ({ keys: [{ name: "prod" }], list_complete: true });

let said: Said;
let server: Stub;
let doors: Doors;
beforeAll(async () => {
  // It also says back what it was told, the token among it.
  server = startCannedCluster(({ headers: told }) => {
    const { code: status, text } = said;
    const headers = { "content-type": "application/json", location: `https://${SECRET_OF_UPSTREAM}/` };
    const words = text.replaceAll("HEADERS", JSON.stringify(JSON.stringify(told)).slice(1, -1));
    return new Response(words, { status, headers });
  });
});
// Time passes there, and a delivery is signed for some minutes only.
beforeEach(() => {
  const headers = { "CF-Access-Client-Secret": ACCESS };
  const prod = JSON.stringify(entry(server.url, { relaySecret: RELAY_SECRET, headers }));
  const get = async (name: string) => (name === "prod" ? await sealed(name, prod) : null);
  doors = openDoors({ CLUSTER_REGISTRY: { get, list: onlyProd } });
});

const DELETION = {
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: {
    uid: "1",
    operation: "DELETE",
    resource: { group: "", resource: "pods" },
    userInfo: { username: "system:kube-scheduler" },
    oldObject: {
      ...CANNED_POD,
      status: {
        ...CANNED_POD.status,
        conditions: [{ type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" }],
      },
    },
  },
};

const hostile = fc.constantFrom(SECRET_OF_UPSTREAM, "HEADERS", 7, null, true, [], {}, [SECRET_OF_UPSTREAM]);
const anyObject = fc.record(
  {
    kind: fc.constantFrom("Status", "Pod", "List", SECRET_OF_UPSTREAM),
    code: fc.constantFrom(200, 403, 404, 409, 500),
    message: hostile,
    reason: hostile,
    metadata: fc.record(
      { name: hostile, uid: hostile, labels: hostile, annotations: hostile, continue: hostile },
      { requiredKeys: [] },
    ),
    spec: fc.record({ nodeName: hostile, evictionStrategy: fc.constant(7), taints: hostile }, { requiredKeys: [] }),
    status: hostile,
    items: fc.oneof(hostile, fc.array(fc.record({ metadata: hostile, spec: hostile, data: hostile }))),
    minor: hostile,
  },
  { requiredKeys: [] },
);
const anySaid: fc.Arbitrary<Said> = fc.record({
  code: fc.constantFrom(200, 201, 301, 307, 400, 401, 403, 404, 409, 422, 429, 500, 503),
  text: fc.oneof(
    anyObject.map((object) => JSON.stringify(object)),
    fc.constantFrom(`<html>${SECRET_OF_UPSTREAM} HEADERS`, `{"${SECRET_OF_UPSTREAM}`, "", SECRET_OF_UPSTREAM),
  ),
});

const EVENT = {
  specversion: "1.0",
  id: "1",
  source: "/relay",
  type: "dev.lifeboat.vmi.changed.v1",
  time: NOW.toISOString(),
  data: { namespace: "apps", name: "web", uid: "uid-of-web" },
};

/** What those send who may. */
function sentTo(path: string): { readonly body: string; readonly headers: Readonly<Record<string, string>> } {
  if (path.includes("/deletions")) return { body: JSON.stringify(DELETION), headers: {} };
  if (!path.endsWith("/events")) return { body: JSON.stringify(evictionReview()), headers: {} };
  const body = JSON.stringify([EVENT]);
  const signed = {
    "content-type": "application/cloudevents-batch+json",
    "webhook-id": "1",
    "webhook-timestamp": String(NOW.getTime() / 1000),
    "webhook-signature": new Webhook(RELAY_SECRET).sign("1", NOW, body),
  };
  return { body, headers: signed };
}

const RUNS = 60;
/** At each route one of these is let in; the token in the path is for those who send no other. */
const CALLERS = [asWebhook, asOperator, {}];

test.each(PAGES)("%s %s: tells one who has signed in no secret", async (method, route) => {
  const until = NOW.getTime() / 1000 + 3600;
  const grant = { cluster: "prod", name: "operator", mayAct: true, until };
  const cookie = `${COOKIE}=${await signGrant(grant, { ...entry(""), headers: {} })}`;
  const form = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" };
  const headers = { ...(method === "POST" ? form : {}), accept: "text/html", cookie };
  const path = filledIn(route, { cluster: "prod", namespace: "apps", name: "web", node: "node01" });
  const property = fc.asyncProperty(anySaid, async (given) => {
    said = given;
    const body = method === "POST" ? { body: `token=${tokenOf()}` } : {};
    const { code, text } = await doors.request(path, { method, headers, ...body });
    await doors.settle();
    // Whose token it is, the API server does not say.
    if (path !== "/signin") expect(code).not.toBe(401);
    const told = text + JSON.stringify(doors.log);
    expect(SECRETS.filter((secret) => told.includes(secret))).toEqual([]);
  });
  await fc.assert(property, { seed: 20_260_301, numRuns: RUNS });
});

describe.each(ROUTES)("%s %s", (method, route) => {
  const path = filledIn(route, { cluster: "prod", namespace: "apps", name: "web", webhookToken: TOKENS.webhookToken });
  const { body, headers } = sentTo(path);

  test("tells no secret", async () => {
    let opened = 0;
    const property = fc.asyncProperty(anySaid, async (given) => {
      said = given;
      const before = doors.log.length;
      const answers: Answer[] = [];
      for (const caller of CALLERS) {
        const init = { method, headers: { ...headers, ...caller }, ...(method === "POST" && { body }) };
        answers.push(await doors.request(path, init));
        await doors.settle();
      }
      opened += answers.some(({ code }) => code !== 401) ? 1 : 0;
      const told = answers.map(({ text }) => text).join() + JSON.stringify(doors.log.slice(before));
      expect(SECRETS.filter((secret) => told.includes(secret))).toEqual([]);
    });
    await fc.assert(property, { seed: 20_260_301, numRuns: RUNS });
    expect(opened).toBe(RUNS);
  });
});
