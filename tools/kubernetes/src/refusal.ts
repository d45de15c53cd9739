/** A failure that is not a bug: the message states what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
