// The neighbour.
export default {
  fetch(): Response {
    return new Response("good\n");
  },
};
