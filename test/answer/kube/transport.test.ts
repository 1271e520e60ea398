/** Tests the headers of requests to an API server. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../../shared/kube/client.ts";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { reach } from "../../support/cluster/network.ts";
import { NOW, vmi } from "../../support/fixtures.ts";
import { connectTo } from "../../support/client.ts";
import { act } from "../../../shared/act/perform.ts";

const WEB = { namespace: "apps", name: "web" };

let server: FakeCluster;
beforeAll(() => {
  server = clusterWith();
});

test("a read carries the token and the entry's headers, and impersonates no user", async () => {
  const cluster = connectTo({ server: server.url, token: "secret", headers: { "x-access": "extra" } });
  await cluster.get("virtualmachineinstances", WEB);
  const { headers, method, body } = server.requests.at(-1) ?? {};
  expect({ method, body }).toEqual({ method: "GET", body: undefined });
  expect(headers).toMatchObject({ authorization: "Bearer secret", "x-access": "extra", "user-agent": "lifeboat" });
  expect(Object.keys(headers ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/^impersonate/)]));
});

describe("a broken connection", () => {
  const label = { verb: "Label", vmi: vmi(), urgency: "urgent" } as const;

  // prettier-ignore
  test.each<[string, broken: number, (cluster: Client) => Promise<unknown>, sent: number, answered: boolean]>([
    ["makes a read try again",                        1,        (c) => c.get("virtualmachineinstances", WEB),                 2, true],
    ["makes a read fail when it breaks twice",        2,        (c) => c.get("virtualmachineinstances", WEB),                 2, false],
    ["makes a write fail, because the API server might have done the write",  1,        (c) => act(label, { cluster: c, now: () => NOW }),                1, false],
  ])("%s", async (...[, broken, ask, sent, answered]) => {
    let count = 0;
    const fetchBroken = async (url: string, init: RequestInit): Promise<Response> => {
      count += 1;
      if (count <= broken) throw new TypeError("Network connection lost.");
      return await reach(url, init);
    };
    const asked = ask(connectTo({ server: server.url, fetch: fetchBroken }));
    await (answered ? expect(asked).resolves.toBeDefined() : expect(asked).rejects.toThrow("cannot be reached"));
    expect(count).toBe(sent);
  });

  test("is no reason to try again when the time is over", async () => {
    let count = 0;
    const ended = (): Promise<Response> => {
      count += 1;
      return Promise.reject(new DOMException("The operation was aborted", "AbortError"));
    };
    const endpoint = { server: server.url, token: "t", headers: {}, fetch: ended };
    const [signal, timeout] = [AbortSignal.abort(), () => AbortSignal.abort()];
    const options = { onOddItem: () => undefined, signal, timeout };
    await expect(createClient({ endpoint, ...options }).get("virtualmachineinstances", WEB)).rejects.toThrow("in time");
    expect(count).toBe(1);
  });
});
