/* Fetch-and-add between two processes of MPI: arguments are bytes of a request, requests in flight, seconds to measure. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUEST, ANSWER, END };

static void serve(int bytes) {
    uint64_t value = 0, *request = malloc(bytes);
    for (;;) {
        MPI_Status status;
        MPI_Recv(request, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == END) return;
        uint64_t before = value;
        value += request[0];
        MPI_Send(&before, sizeof before, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
    }
}

static void ask(int bytes, int depth, double seconds) {
    uint64_t *request = calloc(bytes, 1), *answers = calloc(depth, sizeof *answers), done = 0, from = 0;
    MPI_Request *sent = malloc(depth * sizeof *sent), *awaited = malloc(depth * sizeof *awaited);
    int *ready = malloc(depth * sizeof *ready), count;
    request[0] = 1;
    double warm = MPI_Wtime() + seconds / 4, start = 0, now = 0;
    for (int i = 0; i < depth; i++) {
        MPI_Irecv(&answers[i], sizeof *answers, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, &awaited[i]);
        MPI_Isend(request, bytes, MPI_BYTE, 1, REQUEST, MPI_COMM_WORLD, &sent[i]);
    }
    for (;;) {
        MPI_Waitsome(depth, awaited, &count, ready, MPI_STATUSES_IGNORE);
        done += count;
        now = MPI_Wtime();
        if (!start && now > warm) start = now, from = done;
        if (start && now > start + seconds) break;
        for (int i = 0; i < count; i++) {
            int place = ready[i];
            MPI_Irecv(&answers[place], sizeof *answers, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, &awaited[place]);
            MPI_Wait(&sent[place], MPI_STATUS_IGNORE);
            MPI_Isend(request, bytes, MPI_BYTE, 1, REQUEST, MPI_COMM_WORLD, &sent[place]);
        }
    }
    MPI_Waitall(depth, awaited, MPI_STATUSES_IGNORE);
    MPI_Waitall(depth, sent, MPI_STATUSES_IGNORE);
    MPI_Send(request, bytes, MPI_BYTE, 1, END, MPI_COMM_WORLD);
    printf("%llu %f\n", (unsigned long long)(done - from), now - start);
}

int main(int count, char **arguments) {
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) ask(atoi(arguments[1]), atoi(arguments[2]), atof(arguments[3]));
    else serve(atoi(arguments[1]));
    MPI_Finalize();
    return 0;
}
