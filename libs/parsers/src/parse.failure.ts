export type ParseFailureReason =
  | 'malformed'
  | 'too-long'
  | 'too-deep'
  | 'too-many-values'
  | 'too-many-documents'
  | 'aliases'
  | 'tags'
  | 'too-slow'
  | 'too-much-memory';

/**
 * Why a text is rejected. The message continues a sentence: "it ...". It may quote a few words of the text, without
 * control characters.
 */
export class ParseFailure extends Error {
  override readonly name = 'ParseFailure';

  constructor(
    readonly reason: ParseFailureReason,
    message: string,
  ) {
    super(message);
  }
}

export const tooLong = (lengthMax: number): ParseFailure =>
  new ParseFailure('too-long', `it has more than ${lengthMax} characters`);

export const tooDeep = (depthMax: number): ParseFailure =>
  new ParseFailure('too-deep', `it is nested more than ${depthMax} deep`);

export const tooManyValues = (valuesMax: number): ParseFailure =>
  new ParseFailure('too-many-values', `it has more than ${valuesMax} values`);

const WORDS_LENGTH_MAX = 200;

/** The message of a parser, which may quote the text. */
export const malformed = (words: string): ParseFailure =>
  new ParseFailure('malformed', words.slice(0, WORDS_LENGTH_MAX).replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' '));
