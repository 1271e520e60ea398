/** What callers are told, in the callers' own words: the descheduler, kubectl, administrators. */
import { describe, expect, test } from "vitest";
import { causeOfEviction } from "../../../shared/policy/cause.ts";
import { MESSAGE } from "../../../shared/policy/eviction/messages.ts";
import { pod, vmi } from "../fixtures.ts";

/** kubernetes-sigs/descheduler: a 429 for a pod that asked for this, with this in it, is an eviction in background. */
const DESCHEDULER_LOOKS_FOR = "Eviction triggered evacuation";

describe("the contract with the descheduler", () => {
  test("first request", () => {
    expect(MESSAGE.EvacuationTriggered(vmi())).toBe('Eviction triggered evacuation of VMI "apps/web"');
  });

  test("later requests", () => {
    const text = 'Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"';
    expect(MESSAGE.EvacuationInProgress(vmi())).toBe(text);
  });

  test("these two are recognised, every other refusal is not", () => {
    const said = {
      EvacuationTriggered: MESSAGE.EvacuationTriggered(vmi()),
      EvacuationInProgress: MESSAGE.EvacuationInProgress(vmi()),
      NotMigratable: MESSAGE.NotMigratable(vmi(), "LiveMigrate"),
      UnknownStrategy: MESSAGE.UnknownStrategy(vmi(), "spec.evictionStrategy", "Odd"),
      MigrationTarget: MESSAGE.MigrationTarget(vmi()),
      NotScheduled: MESSAGE.NotScheduled(vmi()),
      HotplugOfLiveVmi: MESSAGE.HotplugOfLiveVmi(vmi(), pod()),
      BackingOff: MESSAGE.BackingOff(vmi(), "Abandoned", 20),
      ShutdownByStrategy: MESSAGE.ShutdownByStrategy(vmi()),
    } satisfies Record<keyof typeof MESSAGE, string>;
    const recognised = Object.entries(said).flatMap(([key, text]) =>
      text.includes(DESCHEDULER_LOOKS_FOR) ? [key] : [],
    );
    expect(recognised).toEqual(["EvacuationTriggered", "EvacuationInProgress"]);
  });

  test("an Eviction sent by it is recognised by its annotation", () => {
    expect(causeOfEviction({ "requested-by": "sigs.k8s.io/descheduler", reason: "LowNodeUtilization" })).toBe(
      "Descheduler",
    );
  });

  test.each([{}, { "requested-by": "somebody" }, { "requested-by": "" }, { reason: "sigs.k8s.io/descheduler" }])(
    "annotations %j: an ordinary eviction",
    (annotations) => expect(causeOfEviction(annotations)).toBe("ApiEviction"),
  );
});

test("an unknown strategy is quoted, but not at any length", () => {
  const message = MESSAGE.UnknownStrategy(vmi(), "spec.evictionStrategy", "x".repeat(10_000));
  expect(message.length).toBeLessThan(250);
});
