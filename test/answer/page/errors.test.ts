/** What is shown instead of a page, and to whom. */
import { expect, test } from "vitest";
import { COOKIE, sealCookie, signGrant, withGrant } from "../../../functions/page/session.ts";
import { entry, NOW, openDoors, TOKENS } from "../../support/doors.ts";
import { REGISTRY_KEY } from "../../support/sealed.ts";
import { HOSTILE, isEscaped, words } from "./support/fake-visit.ts";

const NOWHERE = "http://127.0.0.1:1";
const CLUSTERS = { prod: entry(NOWHERE), staging: entry(NOWHERE), unbound: entry("binding:NONE"), bad: { server: 1 } };
const UNTIL = Math.floor(NOW.getTime() / 1000) + 3600;

async function grantsFor(...clusters: readonly string[]): Promise<string> {
  let cookie: string | undefined;
  for (const cluster of clusters) {
    const grant = { cluster, name: "operator", mayAct: true, until: UNTIL };
    const signer = { server: "", token: "", webhookToken: TOKENS.webhookToken, operatorToken: TOKENS.operatorToken };
    cookie = withGrant(cookie, cluster, await signGrant(grant, { ...signer, headers: {} }));
  }
  return cookie ?? "";
}

const cookieFor = async (...clusters: readonly string[]) => `${COOKIE}=${await grantsFor(...clusters)}`;

const doors = openDoors({ CLUSTERS });

async function visit(path: string, clusters: readonly string[], accept = "text/html") {
  return await doors.request(path, { headers: { accept, cookie: await cookieFor(...clusters) } });
}

test("given no such page, a browser gets a page that leads to the cluster, a program JSON", async () => {
  const answer = await visit("/fleet/prod/nodes", ["prod"]);
  expect(answer).toMatchObject({ code: 404, contentType: "text/html; charset=UTF-8" });
  for (const part of ["<h1>No such page</h1>", '<a href="/fleet/prod">To the cluster</a>'])
    expect(answer.text).toContain(part);
  const error = { reason: "NotFound" };
  expect(await visit("/fleet/prod/nodes", ["prod"], "application/json")).toMatchObject({ code: 404, body: { error } });
});

test("an unexpected error is told in the log only", async () => {
  const secret = "what only the log may hold";
  const CLUSTER_REGISTRY = { get: () => Promise.reject(new Error(secret)), list: () => Promise.reject(new Error("")) };
  const broken = openDoors({ CLUSTER_REGISTRY });
  const cookie = `${COOKIE}=${await sealCookie(await grantsFor("prod"), { CLUSTER_REGISTRY, REGISTRY_KEY })}`;
  const answer = await broken.request("/fleet/prod", { headers: { accept: "text/html", cookie } });
  expect(answer.code).toBe(500);
  expect(words(answer.text)).toContain("Something went wrong");
  expect(answer.text).not.toContain(secret);
  expect(JSON.stringify(broken.log)).toContain(secret);
});

test.each(["/", "/fleet/prod", "/fleet/prod/nodes/node01", "/fleet/nowhere"])(
  "%s leads a stranger to sign in",
  async (path) => {
    const answer = await doors.request(path, { headers: { accept: "text/html" } });
    expect(answer.code).toBe(303);
    expect((await visit(path, [], "text/event-stream")).code).toBe(401);
  },
);

test("a cookie for one cluster opens no other", async () => {
  for (const cluster of ["staging", "nowhere", "bad"])
    expect((await visit(`/fleet/${cluster}`, ["prod"])).code).toBe(303);
});

test("the fleet shows the clusters that the cookie opens, and no others", async () => {
  const forged = `${await cookieFor("prod", "staging", "unbound")}~${btoa(JSON.stringify(["bad", "x", true, UNTIL]))}.x`;
  const { code, text } = await doors.request("/", { headers: { accept: "text/html", cookie: forged } });
  expect(code).toBe(200);
  expect(words(text)).toContain("2 clusters cannot be reached.");
  expect(text).toContain('href="/fleet/prod"');
  expect(text).toContain('href="/fleet/staging"');
  expect(text).not.toContain('href="/fleet/unbound"');
});

test("a hostile address stays text", async () => {
  const { text } = await visit(`/fleet/${encodeURIComponent(HOSTILE)}/nodes`, ["prod"]);
  expect(isEscaped(text)).toBe(true);
});
