/** Tests which requests each kind of injected fault affects. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../../apiserver/faults.ts";
import { Hook } from "../contract/hook.ts";
import { configure, NAME, REVIEW } from "./webhook.ts";
import { type Started, start } from "./started.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
const map = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { key: "x".repeat(1000) },
});

let started: Started;
beforeAll(async () => {
  started = await start();
});
afterAll(() => started.stop());
beforeEach(async () => {
  started.server.faults.clear();
  await started.admin.send({ method: "DELETE", path: MAPS });
});

const create = (name: string) => started.admin.send({ method: "POST", path: MAPS, body: map(name) });
const read = (name: string) => started.admin.send({ method: "GET", path: `${MAPS}/${name}` });
const inject = (fault: Fault) => started.server.faults.inject(fault);

describe("an injected error", () => {
  const match = { verbs: ["create"] };
  test.each([
    [401, "Unauthorized"],
    [409, "Conflict"],
    [422, "Invalid"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [503, "ServiceUnavailable"],
  ] as const)("is returned as %i %s, and the request has no effect", async (code, reason) => {
    inject({ match, effect: { type: "Error", code }, times: 1 });
    expect((await create("a")).body).toMatchObject({ kind: "Status", status: "Failure", code, reason });
    expect((await read("a")).code, "nothing was done").toBe(404);
    expect((await create("a")).code, "once").toBe(201);
  });

  test("happens until the fault is removed", async () => {
    const takeAway = inject({ match, effect: { type: "Error", code: 500 } });
    inject({ match: { verbs: ["get"] }, effect: { type: "Error", code: 503 } });
    expect((await create("a")).code).toBe(500);
    takeAway();
    expect((await create("a")).code).toBe(201);
    expect((await read("a")).code, "another fault").toBe(503);
  });

  test("with the code 429 has the header Retry-After", async () => {
    inject({ effect: { type: "Error", code: 429, retryAfterSeconds: 7 } });
    expect((await create("a")).headers["retry-after"]).toBe("7");
  });

  test.each<readonly [string, Fault["match"]]>([
    ["another verb", { verbs: ["get"] }],
    ["another user", { users: ["somebody"] }],
  ])("does not affect %s", async (_title, other) => {
    inject({ ...(other && { match: other }), effect: { type: "Error", code: 500 } });
    expect((await create("a")).code).toBe(201);
  });
});

describe("a faulty connection", () => {
  test("is reset before the request has any effect", async () => {
    inject({ match: { verbs: ["create"] }, effect: { type: "ConnectionReset" }, times: 1 });
    await expect(create("a")).rejects.toThrow();
    expect((await read("a")).code).toBe(404);
  });

  test("is lost after the request has had its effect", async () => {
    inject({ match: { verbs: ["create"] }, effect: { type: "LostAnswer" }, times: 1 });
    await expect(create("a")).rejects.toThrow();
    expect((await read("a")).code).toBe(200);
  });

  test("truncates the body of an answer", async () => {
    inject({ match: { verbs: ["get"] }, effect: { type: "TruncatedBody" }, times: 1 });
    await create("a");
    await expect(read("a")).rejects.toThrow();
  });

  test("breaks a watch after its second event", async () => {
    inject({ match: { verbs: ["watch"] }, effect: { type: "DroppedWatch", afterEvents: 2 }, times: 1 });
    for (const name of ["a", "b", "c"]) await create(name);
    await expect(started.admin.send({ method: "GET", path: `${MAPS}?watch=true` })).rejects.toThrow();
  });

  test("does not break a watch that ends earlier", async () => {
    await create("a");
    started.server.compact();
    inject({ match: { verbs: ["watch"] }, effect: { type: "DroppedWatch", afterEvents: 2 } });
    const expired = await started.admin.send({ method: "GET", path: `${MAPS}?watch=true&resourceVersion=1` });
    expect(expired.text).toContain('"code":410');
    const ended = await started.admin.send({ method: "GET", path: `${MAPS}?watch=true&timeoutSeconds=1` });
    expect(ended.text).toContain('"type":"ADDED"');
  });

  test("delays an answer, and changes nothing else", async () => {
    inject({ effect: { type: "Latency", milliseconds: 50 }, times: 1 });
    const before = performance.now();
    expect((await create("a")).code).toBe(201);
    expect(performance.now() - before).toBeGreaterThanOrEqual(49);
  });
});

describe("calls of webhooks", () => {
  const hook = new Hook();
  beforeAll(() => hook.start());
  afterAll(() => hook.stop());

  const match = { webhooks: [NAME] };
  const failed = {
    code: 500,
    message: expect.stringContaining(`failed calling webhook "${NAME}": failed to call webhook`),
  };
  const reviews = () => hook.calls.filter(({ url }) => url.startsWith(REVIEW)).length;

  test.each([
    ["LostReview", 0, "write: broken pipe"],
    ["LostVerdict", 1, "EOF"],
  ] as const)("that fail with %s: %i reviews arrive, and failurePolicy applies", async (type, arrived, why) => {
    for (const failurePolicy of ["Fail", "Ignore"]) {
      await configure(started, hook, { failurePolicy });
      hook.calls.length = 0;
      inject({ match, effect: { type }, times: 1 });
      const { code, body } = await create(failurePolicy.toLowerCase());
      if (failurePolicy === "Ignore") expect(code).toBe(201);
      else expect(body).toMatchObject({ ...failed, message: expect.stringMatching(new RegExp(`: ${why}$`)) });
      expect(reviews()).toBe(arrived);
    }
    expect(started.server.faults.injected.at(-1)?.effect).toEqual({ type });
    expect((await create("again")).code).toBe(201);
    const { text } = await started.admin.send({ method: "GET", path: "/metrics" });
    expect(text).toMatch(new RegExp(`fail_open_count\\{name="${NAME}",type="validating"\\} \\d`));
  });

  test.each<readonly [string, Fault["match"]]>([
    ["another webhook", { webhooks: ["other.example.com"] }],
    ["another request", { webhooks: [NAME], verbs: ["delete"] }],
  ])("are not affected by a fault for %s", async (_title, other) => {
    await configure(started, hook, { failurePolicy: "Fail" });
    inject({ ...(other && { match: other }), effect: { type: "LostReview" } });
    expect((await create("a")).code).toBe(201);
  });

  test("that break on a reused connection are not repeated", async () => {
    await configure(started, hook, { failurePolicy: "Fail" });
    expect((await create("a")).code).toBe(201);
    hook.calls.length = 0;
    hook.replies = { [REVIEW]: "closed" };
    expect((await create("b")).body).toMatchObject(failed);
    hook.replies = {};
    expect(reviews()).toBe(1);
  });
});
