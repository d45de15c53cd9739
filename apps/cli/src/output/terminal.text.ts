/**
 * Characters that control a terminal or change the order of text: C0 (except for tab and newline), DEL and C1 control
 * characters, and Unicode's bidirectional marks, embeddings, overrides and isolates.
 */
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** The colour sequences of this program; they neither hide nor move text. */
const OWN_COLOUR = /(\u001B\[(?:1|2|22|31|32|33|36|39)m)/;

const visible = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes control characters for a terminal, e.g. as `\u001b`. Names, failure messages and events come from hosts and
 * providers, which are not trusted. JSON uses the same escapes for the same characters, so programs read the original
 * text.
 */
export const terminalText = (text: string, { withColours }: { readonly withColours: boolean }): string =>
  withColours
    ? text
        .split(OWN_COLOUR)
        .map((part, index) => (index % 2 === 1 ? part : part.replace(OBEYED, visible)))
        .join('')
    : text.replace(OBEYED, visible);
