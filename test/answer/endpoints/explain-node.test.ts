/** The preflight: of every pod of a node what its eviction would get, and whether a drain ends. Changes nothing. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { node, NODE } from "../../support/fixtures.ts";
import { anyWorld, clusterOf, openNoting } from "./support/any-eviction.ts";
import { allowance, evictionOf, refusal } from "../../support/reviews.ts";

test("what is said of a pod before its node is drained is what its eviction then gets", async () => {
  const outcomes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyWorld, async (w) => {
      const { fake, evicted } = clusterOf(w);
      fake.nodes.put(node());
      fake.nodes.put(node({ name: "node02" }));
      const { doors, written } = openNoting(fake);
      const answer = await doors.explainNode(NODE);
      expect(written).toEqual([]);
      const said = answer.pods.find(({ name }) => name === evicted.name);
      if (said === undefined) throw new Error("the pod is missing");
      outcomes.add(`${answer.verdict} ${said.outcome}`);
      // Drains leave it in place: it has no controller.
      if (said.eviction === undefined) return;
      const { allowed, message, reason } = said.eviction;
      // A refusal may have warnings besides.
      const expected = allowed ? allowance(message === undefined ? {} : { warnings: [message] }) : refusal(message);
      expect((await doors.evict(evictionOf(evicted))).body).toMatchObject(expected);
      expect(doors.log.find(({ endpoint }) => endpoint === "admission/evictions")).toMatchObject({ reason });
      await doors.settle();
    }),
    { seed: 20_261_122, numRuns: 1000 },
  );
  expect([...outcomes].toSorted()).toMatchInlineSnapshot(`
    [
      "WillBlock Blocked",
      "WillBlock Ended",
      "WillBlock Follows",
      "WillSucceed Ended",
      "WillSucceed Evicted",
      "WillSucceed Follows",
      "WillSucceed Moves",
      "WillSucceed Waits",
      "WillSucceedWithShutdowns Ended",
      "WillSucceedWithShutdowns Follows",
      "WillSucceedWithShutdowns ShutsDown",
    ]
  `);
});
