/**
 * Lists all objects of a kind, page by page, as plain JSON: client-node's models cost time to build, and turn timestamps into dates, which
 * a watch does not.
 */
import { HttpMethod, IsomorphicFetchHttpLibrary, type KubeConfig, RequestContext } from "@kubernetes/client-node";
import * as z from "zod/mini";

const PAGE = 250;
const PAGE_TIMEOUT_MS = 60_000;

export interface Listed<Item> {
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly read: (object: unknown) => Item | undefined;
}

const Page = z.object({
  kind: z.string().check(z.endsWith("List")),
  metadata: z.object({ resourceVersion: z.string(), continue: z.optional(z.string()) }),
  items: z.nullish(z.array(z.unknown())),
});

export async function listPages<Item>(
  kubeConfig: KubeConfig,
  { path, labelSelector, fieldSelector, read }: Listed<Item>,
  signal: AbortSignal,
): Promise<{ readonly items: Item[]; readonly resourceVersion: string }> {
  const items: Item[] = [];
  const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
  for (let next: string | undefined; ;) {
    const query = new URLSearchParams({ ...selectors, limit: String(PAGE), ...(next && { continue: next }) });
    const page = Page.parse(await get(kubeConfig, `${path}?${query.toString()}`, signal));
    for (const object of page.items ?? []) {
      const item = read(object);
      if (item !== undefined) items.push(item);
    }
    next = page.metadata.continue;
    if (!next) return { items, resourceVersion: page.metadata.resourceVersion };
  }
}

async function get(kubeConfig: KubeConfig, path: string, signal: AbortSignal): Promise<unknown> {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("the kubeconfig names no current cluster");
  const request = new RequestContext(server + path, HttpMethod.GET);
  request.setHeaderParam("Accept", "application/json");
  request.setSignal(AbortSignal.any([signal, AbortSignal.timeout(PAGE_TIMEOUT_MS)]));
  await kubeConfig.applySecurityAuthentication(request);
  const response = await new IsomorphicFetchHttpLibrary().send(request).toPromise();
  const text = await response.body.text();
  if (response.httpStatusCode !== 200) throw new Error(`HTTP ${response.httpStatusCode}`);
  return JSON.parse(text);
}
