/** virt-api: an HTTPS server for admission reviews and for forwarded requests. */
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubeClient } from "../actors/client.ts";
import type { KubeObject } from "../actors/resources.ts";
import { messageOf } from "../actors/status-error.ts";
import type { Authority } from "../certificates.ts";
import type { SubresourceAnswer } from "./subresource-answers.ts";
import { answerSubresource, type SubresourceRequest } from "./subresources.ts";
import { PATHS } from "./webhooks/configurations.ts";
import { admitEviction } from "./webhooks/evictions.ts";
import { admitMigrationCreate, admitMigrationUpdate, mutateMigration } from "./webhooks/migrations.ts";
import { refused, type AdmissionRequest, type AdmissionResponse, type Admit } from "./webhooks/review.ts";
import { admitPlugin } from "./webhooks/plugins.ts";
import { admitVmiUpdate, mutateVmi } from "./webhooks/vmi.ts";

export interface VirtApi {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startVirtApi(client: KubeClient, authority: Authority): Promise<VirtApi> {
  const { certPem, keyPem } = await authority.issue(["127.0.0.1", "localhost"]);
  const handlers = new Map<string, Handler>([
    [PATHS.mutateVmi, handlerOf(mutateVmi)],
    [PATHS.mutateMigration, handlerOf(mutateMigration)],
    [PATHS.admitVmiUpdate, handlerOf(admitVmiUpdate)],
    [PATHS.admitMigrationCreate, handlerOf(admitMigrationCreate(client))],
    [PATHS.admitMigrationUpdate, handlerOf(admitMigrationUpdate)],
    [PATHS.admitPlugin, handlerOf(admitPlugin(client))],
    [PATHS.admitEviction, handlerOf(admitEviction(client))],
  ]);

  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const handle = handlers.get(path);
    if (handle === undefined) return void subresource(client, request, response);
    answer(request, handle).then(
      (review) => response.writeHead(200, { "content-type": "application/json" }).end(review),
      (error: unknown) => response.writeHead(400).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `https://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function subresource(client: KubeClient, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ""] = (request.url ?? "").split("?");
  request.setEncoding("utf8");
  try {
    const body = (await request.toArray()).join("");
    const { code, status, text } =
      (await answerSubresource(client, { ...identityOf(request), path, body })) ?? NO_SUCH_PATH;
    if (status === undefined) response.writeHead(code, { "content-type": "text/plain" }).end(text);
    else response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(status));
  } catch (error) {
    response.writeHead(500).end(messageOf(error));
  }
}

const NO_SUCH_PATH: SubresourceAnswer = { code: 404 };

function identityOf({
  method,
  headers,
}: IncomingMessage): Pick<SubresourceRequest, "method" | "user" | "groups" | "accept"> {
  const groups = [headers["x-remote-group"] ?? []].flat().flatMap((one) => one.split(", "));
  return { method: method ?? "", user: String(headers["x-remote-user"]), groups, accept: headers.accept ?? "*/*" };
}

interface AdmissionReview {
  readonly apiVersion: string;
  readonly request: AdmissionRequest;
}

type Handler = (review: AdmissionReview) => Promise<AdmissionResponse>;

/**
 * Returns the handler of a webhook. The webhook's rules ensure that the object has the type T. If virt-api cannot read
 * an object that it needs for the answer, the handler denies the request.
 */
function handlerOf<T extends KubeObject>(admit: Admit<T>): Handler {
  return async ({ request }) => {
    try {
      return await admit(request as AdmissionRequest<T>);
    } catch (error) {
      return refused(messageOf(error));
    }
  };
}

async function answer(incoming: IncomingMessage, handle: Handler): Promise<string> {
  incoming.setEncoding("utf8");
  const review = JSON.parse((await incoming.toArray()).join("")) as AdmissionReview;
  const response = { uid: review.request.uid, ...(await handle(review)) };
  return JSON.stringify({ apiVersion: review.apiVersion, kind: "AdmissionReview", response });
}
