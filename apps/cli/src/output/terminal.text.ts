/**
 * What a terminal would obey or use to show text in another order: C0 (but for tab and newline), DEL and C1 control characters, and
 * Unicode's bidirectional marks, embeddings, overrides and isolates.
 */
const OBEYED = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

/** The colours that this program itself uses; they hide nothing and move nothing. */
const OWN_COLOUR = /(\u001B\[(?:1|2|22|31|32|33|36|39)m)/;

const visible = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Text for a terminal: whatever it would obey is shown as `\u001b` instead. Names, failure messages and events come from hosts and
 * providers, whoever runs them. In JSON the same escape stands for the same character, so that programs read what was sent.
 */
export const terminalText = (text: string, { withColours }: { readonly withColours: boolean }): string =>
  withColours
    ? text
        .split(OWN_COLOUR)
        .map((part, index) => (index % 2 === 1 ? part : part.replace(OBEYED, visible)))
        .join('')
    : text.replace(OBEYED, visible);
