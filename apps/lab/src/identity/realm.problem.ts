/** An error response in the format of Keycloak and OAuth 2.0. */
export class RealmProblem extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
  ) {
    super(error);
  }
}

export const notFound = (): RealmProblem => new RealmProblem(404, 'not_found');
export const conflict = (what: string): RealmProblem => new RealmProblem(409, `${what} already exists`);
