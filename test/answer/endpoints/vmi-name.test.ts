/** The VMI's name, guessed from the launcher pod's: right most of the time, and harmless otherwise. */
import { expect, test } from "vitest";
import { guessVmiName } from "../../../shared/kube/requests.ts";

// prettier-ignore
test.each([
  ["virt-launcher-web-abcde",                 "web"],
  ["virt-launcher-web-0-x7k2p",               "web-0"],
  ["virt-launcher-virt-launcher-a-abcde",     "virt-launcher-a"],
  ["virt-launcher-my.vm.example-z9z9z",       "my.vm.example"],
  ["virt-launcher-a-00000",                   "a"],
  ["virt-launcher-..-abcde",                  ".."],
  ["virt-launcher--abcde",                    undefined],
  ["virt-launcher-abcde",                     undefined],
  ["virt-launcher-web-abcd",                  undefined],
  ["virt-launcher-web-ABCDE",                 undefined],
  ["virt-launcher-web-abcdef",                undefined],
  ["virt-launcher-web",                       undefined],
  ["hp-volume-web-abcde",                     undefined],
  ["my-virt-launcher-web-abcde",              undefined],
  ["",                                        undefined],
])("%s: %s", (pod, vmi) => {
  expect(guessVmiName(pod)).toBe(vmi);
});
