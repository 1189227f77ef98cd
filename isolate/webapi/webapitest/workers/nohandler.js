// Nothing that could take a request.
export default { scheduled() {} };
export const answer = 42;
