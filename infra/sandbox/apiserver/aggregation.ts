/** Forwards requests for some API groups to another server, as kube-aggregator does. */
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { json } from "node:stream/consumers";
import type { Answer, RequestContext } from "./context.ts";
import { fail } from "./status.ts";

export interface AggregatedApi {
  readonly url: string;
  readonly caPem: string;
}

const METHODS: Readonly<Record<string, string>> = { get: "GET", create: "POST", update: "PUT", delete: "DELETE" };

export async function passOn(
  { info, user, headers, body, signal }: RequestContext,
  api: AggregatedApi,
): Promise<Answer> {
  const query = info.query.size === 0 ? "" : `?${info.query.toString()}`;
  const outgoing = httpsRequest(`${api.url}${info.path}${query}`, {
    method: METHODS[info.verb] ?? "GET",
    headers: {
      accept: headers.accept ?? "*/*",
      "content-type": "application/json",
      "content-length": body.length,
      "x-remote-user": user.username,
      "x-remote-group": [...user.groups],
    },
    ca: api.caPem,
    signal,
  });
  outgoing.end(body);
  let response: IncomingMessage;
  try {
    response = await new Promise((resolve, reject) => outgoing.on("response", resolve).on("error", reject));
  } catch {
    return fail({ reason: "ServiceUnavailable", message: "service unavailable" });
  }
  const code = response.statusCode ?? 0;
  if (response.headers["content-type"] === "application/json") {
    return { type: "Document", code, body: await json(response) };
  }
  response.resume();
  return { type: "Text", code, text: "" };
}
