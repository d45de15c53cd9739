/** A reason to stop that is not our bug: the message includes what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
