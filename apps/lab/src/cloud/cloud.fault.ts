/** A rejected request: an HTTP status, a machine-readable code and a message. */
export class CloudFault extends Error {
  constructor(
    readonly status: 400 | 401 | 404 | 405 | 409 | 413 | 422,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = 'CloudFault';
  }
}

export const notFound = (what: string): CloudFault => new CloudFault(404, 'not-found', `there is no ${what}`);
