/** Checks the rules of plain English that a program can check. CONTRIBUTING.md contains the other rules. */
export interface Problem {
  readonly sentence: string;
  readonly message: string;
}

export interface Prose {
  readonly text: string;
  /** The maximum number of words in a sentence. Undefined for comments. */
  readonly mostWords?: number;
}

/** Correct sentences that a rule would report, each with the reason for the exception. At most twenty entries. */
const EXCEPTIONS: readonly { readonly sentence: string; readonly reason: string }[] = [];

const NOUN_CLAUSE = /^(?:Of|What|Whose|Those|Where|That)\b/;

const WORDS: readonly (readonly [slang: RegExp, instead: string])[] = [
  [/\btold\b/i, "message, reported"],
  [/\bbegun\b/i, "started"],
  [/\bbeginnings?\b/i, "start"],
  [/\bwhatever\b/i, "any"],
  [/\bgo(?:es|ing)? on\b/i, "continues"],
  [/\blets? go\b/i, "allow"],
  [/\bmend(?:s|ed|ing)?\b/i, "fixed"],
  [/\bon (?:its|their) way\b/i, "in progress, moving"],
  [/\bdoors?\b/i, "endpoint, handler"],
  [/\ba look\b/i, "check"],
  [/\bforet(?:old|ells?)\b/i, "forecast"],
  [/\bpressed\b/i, "under pressure"],
  [/\bempt(?:ied|ies|ying)\b/i, "evacuated, drained"],
  [/\bstor(?:y|ies)\b/i, "history, record"],
];

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
const WORDS_OF = new Intl.Segmenter("en", { granularity: "word" });

const NO_VERBS =
  /^(?:As|Its|Always|Perhaps|This|Thus|Unless|Seconds|Words|Reasons|Facts|Events|Pods|Nodes|Launchers)$/u;

/** Returns whether the text starts with a verb such as "Returns". A word before "of", "are" or "is" is not a verb. */
export function startsWithVerb(text: string): boolean {
  const [word = "", next = ""] = text.split(/[\s,.:;]+/u, 2);
  return /^[A-Z][a-z-]+s$/u.test(word) && !NO_VERBS.test(word) && !/^(?:of|are|is)$/u.test(next);
}

/** Returns the sentences that break a rule, with a message for each. */
export function problemsOf({ text, mostWords }: Prose): readonly Problem[] {
  const flat = text.replaceAll(/\s+/gu, " ").trim();
  const sentences = [...SENTENCES.segment(flat)].map(({ segment }) => segment.trim());
  const judged = sentences.filter((sentence) => EXCEPTIONS.every((one) => one.sentence !== sentence));
  return judged.flatMap((sentence) =>
    [startOf(sentence), ...slangOf(sentence), lengthOf(sentence, mostWords)]
      .filter((message) => message !== undefined)
      .map((message) => ({ sentence, message })),
  );
}

function startOf(sentence: string): string | undefined {
  const [start] = NOUN_CLAUSE.exec(sentence) ?? [];
  return start === undefined || sentence.endsWith("?") ? undefined : `starts with "${start}": name the actor first`;
}

function slangOf(sentence: string): readonly string[] {
  return WORDS.filter(([slang]) => slang.test(sentence)).map(
    ([slang, instead]) => `has "${slang.exec(sentence)?.[0] ?? ""}": say ${instead}`,
  );
}

function lengthOf(sentence: string, most = Infinity): string | undefined {
  const words = [...WORDS_OF.segment(sentence)].filter(({ isWordLike }) => isWordLike).length;
  return words > most ? `has ${words} words; ${most} at most: make two sentences` : undefined;
}
