/** Whatever the other side says, however badly: no token and no word of it is in an answer or in the log. */
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CANNED_POD, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { asOperator, asWebhook, type Doors, entry, openDoors, TOKENS } from "../functions/support/doors.ts";
import { evictionReview } from "../functions/support/reviews.ts";
import { SECRET_OF_UPSTREAM, type StubServer } from "../functions/support/stub-server.ts";

const RELAY_SECRET = "whsec_dGhpcnR5LXR3byBieXRlcyBvZiBhIHNlY3JldC4uLi4=";
const ACCESS = "secret-of-access";
const SECRETS = [...Object.values(TOKENS), RELAY_SECRET, ACCESS, SECRET_OF_UPSTREAM];

interface Said {
  readonly code: number;
  readonly text: string;
}

let said: Said;
let server: StubServer;
let doors: Doors;
beforeAll(async () => {
  // It also says back what it was told, the token among it.
  server = await startCannedCluster((response, { headers }) => {
    const { code, text } = said;
    response.writeHead(code, { "content-type": "application/json", location: `https://${SECRET_OF_UPSTREAM}/` });
    response.end(text.replaceAll("HEADERS", JSON.stringify(JSON.stringify(headers)).slice(1, -1)));
  });
  const headers = { "CF-Access-Client-Secret": ACCESS };
  doors = openDoors({ CLUSTERS: { prod: entry(server.url, { relaySecret: RELAY_SECRET, headers }) } });
});
afterAll(() => server.stop());

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

// prettier-ignore
const DOORS = [
  ["POST",   "/admission/evictions", asWebhook],
  ["POST",   `/admission/evictions/${TOKENS.webhookToken}`, {}],
  ["POST",   "/admission/deletions", asWebhook],
  ["POST",   "/reconcile", asWebhook],
  ["GET",    "/explain/pods/apps/virt-launcher-web-abcde", asOperator],
  ["GET",    "/evacuations", asOperator],
  ["DELETE", "/evacuations/apps/web", asOperator],
  ["GET",    "/readyz", asOperator],
  ["GET",    "/readyz", asWebhook],
] as const;

describe.each(DOORS)("%s %s", (method, path, headers) => {
  test("tells nobody's secret", async () => {
    const property = fc.asyncProperty(anySaid, async (given) => {
      said = given;
      const before = doors.log.length;
      const sent = path.includes("deletions") ? DELETION : evictionReview();
      const body = method === "POST" ? { body: JSON.stringify(sent) } : {};
      const answer = await doors.request(`/clusters/prod${path}`, { method, headers, ...body });
      await doors.settle();
      const told = answer.text + JSON.stringify(doors.log.slice(before));
      expect(SECRETS.filter((secret) => told.includes(secret))).toEqual([]);
    });
    await fc.assert(property, { seed: 20_260_301, numRuns: 60 });
  });
});
