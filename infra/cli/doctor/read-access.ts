/** What the reader may do, and what Lifeboat's accounts may do, as the API server says. */
import * as z from "zod/mini";
import { parseAnswer } from "../../../shared/cluster/read.ts";
import { LIFEBOAT_NAMESPACE } from "../../../shared/policy/names.ts";
import type { Connection } from "../connection.ts";
import type { Read } from "./check.ts";
import type { Answered } from "./facts.ts";
import { GRANTED, type Granted, OWN, type Permission } from "./permissions.ts";
import { attempt } from "./read.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1";
const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

export async function readOwn(connection: Connection): Promise<Read<readonly Answered<Permission>[]>> {
  return await attempt(connection, undefined, () => answered(Object.values(OWN), (one) => askSelf(connection, one)));
}

export async function readGranted(connection: Connection): Promise<Read<readonly Answered<Granted>[]>> {
  return await attempt(connection, OWN.access, () => {
    return answered(GRANTED, (one) => askAbout(connection, accountOf(one), one));
  });
}

function accountOf({ file }: Granted): string {
  const name = file.startsWith("relay/") ? "lifeboat-relay" : "lifeboat";
  return `system:serviceaccount:${LIFEBOAT_NAMESPACE}:${name}`;
}

const AT_A_TIME = 10;

async function answered<P extends Permission>(all: readonly P[], ask: (one: P) => Promise<boolean>) {
  const answers: Answered<P>[] = [];
  for (let at = 0; at < all.length; at += AT_A_TIME) {
    const some = all.slice(at, at + AT_A_TIME);
    answers.push(...(await Promise.all(some.map(async (one) => ({ ...one, allowed: await ask(one) })))));
  }
  return answers;
}

async function askSelf(connection: Connection, permission: Permission): Promise<boolean> {
  return await review(connection, "SelfSubjectAccessReview", { resourceAttributes: attributesOf(permission) });
}

async function askAbout(connection: Connection, user: string, permission: Permission): Promise<boolean> {
  const [, , namespace = ""] = user.split(":");
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  const spec = { user, groups, resourceAttributes: attributesOf(permission) };
  return await review(connection, "SubjectAccessReview", spec);
}

async function review(connection: Connection, kind: string, spec: unknown): Promise<boolean> {
  const path = `${REVIEWS}/${kind.toLowerCase()}s`;
  const body = { apiVersion: "authorization.k8s.io/v1", kind, spec };
  const answer = await connection.send()({ method: "POST", path, body });
  return parseAnswer(Review, answer.body, `POST ${path}`).status.allowed;
}

function attributesOf({ verb, group, resource: whole, name, namespace }: Permission) {
  const [resource = "", ...within] = whole.split("/");
  const subresource = within.join("/");
  return { verb, group, resource, subresource, name, namespace };
}
